// SPDX-License-Identifier: Apache-2.0
// Workers take samples, not batches: all of them fill the next batch, so it is
// ready as early as can be and little memory is ahead. Everything shared is
// guarded by one mutex; a sample's own memory is written by one worker.
#include "lockstep/data/loader.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "lockstep/core/error.h"
#include "lockstep/plan/work_plan.h"

namespace lockstep {
namespace {

std::vector<std::int64_t> equal_batches(std::size_t samples,
                                        std::int64_t batch) {
  check(batch > 0, "a batch has samples");
  std::vector<std::int64_t> sizes;
  for (auto left = static_cast<std::int64_t>(samples); left > 0; left -= batch)
    sizes.push_back(std::min(left, batch));
  return sizes;
}

Share in_batches(std::vector<std::int64_t> order, std::int64_t batch) {
  std::vector<std::int64_t> sizes = equal_batches(order.size(), batch);
  return {std::move(order), std::move(sizes)};
}

at::Tensor batch_tensor(std::int64_t samples,
                        const std::vector<std::int64_t>& shape,
                        at::ScalarType type, bool pinned) {
  std::vector<std::int64_t> sizes = {samples};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return at::empty(sizes,
                   at::TensorOptions().dtype(type).pinned_memory(pinned));
}

}  // namespace

struct Loader::State {
  // Memory of one batch. Only the thread that calls next() touches the tensors;
  // workers get plain addresses.
  struct Buffer {
    at::Tensor inputs, targets;

    // Every tensor handed out is a view: while one lives, the storage has a
    // second owner.
    bool free() const {
      return inputs.storage().use_count() == 1 &&
             targets.storage().use_count() == 1;
    }
  };

  // A batch on its way: `next` samples were taken by workers, `left` are not
  // done.
  struct Job {
    Buffer buffer;
    char* inputs = nullptr;
    std::int64_t* targets = nullptr;
    std::int64_t first = 0, size = 0, next = 0, left = 0;
    std::exception_ptr error = {};
    // The first bad sample wins, whoever reads faster.
    std::int64_t error_at = 0;
  };

  struct Piece {
    Job* job = nullptr;
    std::int64_t begin = 0, end = 0;
  };

  State(const Dataset& set, Share work, LoaderOptions how)
      : dataset(set), share(std::move(work)), options(how) {
    const SampleShape& shape = dataset.shape();
    input_bytes = numel(shape.input) * (shape.tokens ? 8 : 4);
    target_numel = numel(shape.target);
    for (const std::int64_t size : share.batches)
      largest = std::max(largest, size);
    options.ahead = std::max<std::int64_t>(options.ahead, 1);
  }

  ~State() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    work_there.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  Buffer take_buffer() {
    for (const Buffer& kept : pool)
      if (kept.free()) return kept;
    const SampleShape& shape = dataset.shape();
    pool.push_back(
        {batch_tensor(largest, shape.input,
                      shape.tokens ? at::kLong : at::kFloat, options.pinned),
         batch_tensor(largest, shape.target, at::kLong, options.pinned)});
    return pool.back();
  }

  // Views keep the buffer busy from here on: see Buffer::free.
  Job make_job(std::int64_t size) {
    const Buffer kept = take_buffer();
    Job job{.buffer = {kept.inputs.narrow(0, 0, size),
                       kept.targets.narrow(0, 0, size)}};
    job.inputs = static_cast<char*>(kept.inputs.mutable_data_ptr());
    job.targets = kept.targets.mutable_data_ptr<std::int64_t>();
    job.first = planned_samples;
    job.size = job.left = size;
    planned_samples += size;
    return job;
  }

  // Hands out work until `ahead` batches are on their way.
  void plan_ahead() {
    while (jobs_planned < share.batches.size() &&
           jobs.size() < static_cast<std::size_t>(options.ahead)) {
      Job job = make_job(share.batches[jobs_planned++]);
      const std::lock_guard lock(mutex);
      jobs.push_back(std::move(job));
    }
    work_there.notify_all();
  }

  // Called with the mutex held. A few samples at a time, so that a worker
  // neither waits for the mutex nor leaves the others without work.
  Piece take_piece() {
    for (Job& job : jobs) {
      if (job.next == job.size) continue;
      const std::int64_t many = std::clamp<std::int64_t>(
          job.size / (8 * std::max<std::int64_t>(options.workers, 1)), 1, 16);
      const Piece piece{&job, job.next, std::min(job.next + many, job.size)};
      job.next = piece.end;
      return piece;
    }
    return {};
  }

  void read(const Job& job, std::int64_t at) const {
    const std::int64_t index =
        share.samples[static_cast<std::size_t>(job.first + at)];
    dataset.read(index, options.seed.of(index), job.inputs + at * input_bytes,
                 job.targets + at * target_numel);
  }

  void work_loop() {
    std::unique_lock lock(mutex);
    while (true) {
      Piece piece;
      work_there.wait(lock, [&] {
        if (!stop) piece = take_piece();
        return stop || piece.job != nullptr;
      });
      if (stop) return;
      lock.unlock();
      std::int64_t at = piece.begin;
      std::exception_ptr error;
      try {
        for (; at < piece.end; ++at) read(*piece.job, at);
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      finish(piece, error, at);
    }
  }

  // Called with the mutex held.
  void finish(const Piece& piece, const std::exception_ptr& error,
              std::int64_t at) {
    Job& job = *piece.job;
    if (error && (!job.error || at < job.error_at)) {
      job.error = error;
      job.error_at = at;
    }
    job.left -= piece.end - piece.begin;
    if (job.left == 0) batch_done.notify_all();
  }

  const Dataset& dataset;
  const Share share;
  LoaderOptions options;
  std::int64_t input_bytes = 0, target_numel = 1, largest = 0;

  // Of the thread that calls next().
  std::vector<Buffer> pool;
  std::size_t jobs_planned = 0;
  std::int64_t planned_samples = 0;
  std::vector<std::thread> workers;

  std::mutex mutex;  // guards the rest
  std::condition_variable work_there, batch_done;
  std::deque<Job> jobs;  // addresses stay while others come and go
  bool stop = false;
};

Loader::Loader(const Dataset& dataset, std::vector<std::int64_t> order,
               LoaderOptions options)
    : Loader(dataset, in_batches(std::move(order), options.batch), options) {}

Loader::Loader(const Dataset& dataset, Share share, LoaderOptions options)
    : state_(std::make_unique<State>(dataset, std::move(share), options)) {
  if (options.workers == 0) return;
  state_->plan_ahead();
  for (std::int64_t i = 0; i < options.workers; ++i)
    state_->workers.emplace_back(
        [state = state_.get()] { state->work_loop(); });
}

Loader::~Loader() = default;

std::optional<Batch> Loader::next() {
  State& s = *state_;
  State::Job job;
  if (s.workers.empty()) {
    if (s.jobs_planned == s.share.batches.size()) return std::nullopt;
    job = s.make_job(s.share.batches[s.jobs_planned++]);
    for (std::int64_t at = 0; at < job.size; ++at) s.read(job, at);
  } else {
    std::unique_lock lock(s.mutex);
    if (s.jobs.empty()) return std::nullopt;
    s.batch_done.wait(lock, [&] { return s.jobs.front().left == 0; });
    job = std::move(s.jobs.front());
    s.jobs.pop_front();
    lock.unlock();
    s.plan_ahead();
    if (job.error) std::rethrow_exception(job.error);
  }
  return Batch{std::move(job.buffer.inputs), std::move(job.buffer.targets),
               job.size};
}

}  // namespace lockstep
