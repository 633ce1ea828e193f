// SPDX-License-Identifier: Apache-2.0
// What every group must do, whatever carries it: each collective, type, size
// and root against a serial reference, to the bit. Each rank checks itself and
// a mistake is thrown, so the same cases run under threads and under mpirun.
#pragma once

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <stdexcept>

#include "lockstep/comm/group.h"

namespace lockstep::cases {

inline const std::vector<at::ScalarType> kTypes = {at::kFloat, at::kHalf,
                                                   at::kBFloat16, at::kLong};

// Values whose sum depends on the order: from 1e-3 to 1e3, both signs.
inline at::Tensor values(std::int64_t numel, at::ScalarType type, int rank) {
  const at::Tensor i = at::arange(numel, at::kLong) + 1 + 1000 * rank;
  if (type == at::kLong) return i * 1'000'003;
  const at::Tensor spread = at::remainder(i * 7919, 2003).sub(1001);
  return (spread.to(at::kFloat) / at::remainder(i, 977).add(1)).to(type);
}

// The definition: rank after rank, in fp32 for 16-bit types, rounded once.
inline at::Tensor sum_of(std::int64_t numel, at::ScalarType type, int ranks) {
  const bool narrow = type == at::kHalf || type == at::kBFloat16;
  at::Tensor sum = values(numel, type, 0).to(narrow ? at::kFloat : type);
  for (int r = 1; r < ranks; ++r) sum = sum + values(numel, type, r);
  return sum.to(type);
}

inline void expect(const at::Tensor& got, const at::Tensor& want,
                   const std::string& what) {
  if (!at::equal(got, want)) throw std::runtime_error(what + " is wrong");
}

struct Case {
  std::int64_t numel = 0;
  at::ScalarType type = at::kFloat;
  int root = 0;
};

inline void check_whole(Group& g, const Case& c, const std::string& name) {
  at::Tensor t = values(c.numel, c.type, g.rank());
  g.run({.op = Collective::all_reduce, .tensor = t});
  expect(t, sum_of(c.numel, c.type, g.size()), "all_reduce " + name);

  t = values(c.numel, c.type, g.rank());
  g.run({.op = Collective::reduce, .tensor = t, .root = c.root});
  expect(t,
         g.rank() == c.root ? sum_of(c.numel, c.type, g.size())
                            : values(c.numel, c.type, g.rank()),
         "reduce " + name);

  t = values(c.numel, c.type, g.rank());
  g.run({.op = Collective::broadcast, .tensor = t, .root = c.root});
  expect(t, values(c.numel, c.type, c.root), "broadcast " + name);
}

inline void check_shares(Group& g, const Case& c, const std::string& name,
                         const std::vector<std::int64_t>& shares) {
  const auto me = static_cast<std::size_t>(g.rank());
  std::int64_t begin = 0;
  for (std::size_t r = 0; r < me; ++r) begin += shares[r];
  const auto own = [&](const at::Tensor& whole) {
    return whole.narrow(0, begin, shares[me]);
  };
  const at::Tensor mine = values(c.numel, c.type, g.rank());
  const at::Tensor root = values(c.numel, c.type, c.root);

  at::Tensor out = at::zeros({shares[me]}, c.type);
  g.run({.op = Collective::reduce_scatter,
         .tensor = out,
         .input = mine,
         .shares = shares});
  expect(out, own(sum_of(c.numel, c.type, g.size())), "reduce_scatter " + name);

  at::Tensor whole = at::zeros({c.numel}, c.type);
  g.run({.op = Collective::all_gather,
         .tensor = whole,
         .input = own(root).clone(),
         .shares = shares});
  expect(whole, root, "all_gather " + name);

  out = at::zeros({shares[me]}, c.type);
  g.run({.op = Collective::scatter,
         .tensor = out,
         .input = g.rank() == c.root ? root : at::Tensor(),
         .root = c.root,
         .shares = shares});
  expect(out, own(root), "scatter " + name);

  whole = g.rank() == c.root ? at::zeros({c.numel}, c.type) : at::Tensor();
  g.run({.op = Collective::gather,
         .tensor = whole,
         .input = own(root).clone(),
         .root = c.root,
         .shares = shares});
  if (g.rank() == c.root) expect(whole, root, "gather " + name);

  whole = mine.clone();  // in place: the own share of the same memory
  g.run({.op = Collective::reduce_scatter,
         .tensor = own(whole),
         .input = whole,
         .shares = shares});
  g.run({.op = Collective::all_gather,
         .tensor = whole,
         .input = own(whole),
         .shares = shares});
  expect(whole, sum_of(c.numel, c.type, g.size()), "in place " + name);
}

// Shares 0, 1, 2, … of what there is, the rest to the last rank.
inline std::vector<std::int64_t> uneven(std::int64_t numel, int ranks) {
  std::vector<std::int64_t> out;
  for (int r = 0; r < ranks - 1; ++r) {
    out.push_back(std::min<std::int64_t>(r, numel));
    numel -= out.back();
  }
  out.push_back(numel);
  return out;
}

inline std::vector<std::int64_t> even(std::int64_t numel, int ranks) {
  std::vector<std::int64_t> out;
  for (int r = 0; r < ranks; ++r) out.push_back(share_of(numel, ranks, r));
  return out;
}

inline void check_all(Group& g, const std::vector<std::int64_t>& sizes) {
  for (const at::ScalarType type : kTypes)
    for (const std::int64_t numel : sizes)
      for (const int root : {0, g.size() - 1}) {
        const Case c{numel, type, root};
        const std::string name =
            fmt::format("of {} {}, root {}, {} ranks", numel,
                        c10::toString(type), root, g.size());
        check_whole(g, c, name);
        check_shares(g, c, name, even(numel, g.size()));
        check_shares(g, c, name, uneven(numel, g.size()));
      }
  g.run({.op = Collective::barrier});
}

// Many transfers under way, waited for in another order than they began.
inline void check_many(Group& g) {
  std::vector<at::Tensor> tensors;
  std::vector<TransferHandle> handles;
  for (int i = 0; i < 40; ++i) {
    tensors.push_back(values(i * 1500, at::kFloat, g.rank()));
    handles.push_back(
        g.start({.op = Collective::all_reduce, .tensor = tensors.back()}));
  }
  for (std::size_t i = handles.size(); i-- > 0;) {
    g.wait(handles[i]);
    expect(tensors[i], sum_of(tensors[i].numel(), at::kFloat, g.size()),
           "all_reduce");
  }
}

}  // namespace lockstep::cases
