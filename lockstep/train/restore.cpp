// SPDX-License-Identifier: Apache-2.0
#include "lockstep/train/restore.h"

#include "lockstep/comm/agree.h"
#include "lockstep/core/error.h"
#include "lockstep/train/checkpoint.h"

namespace lockstep {

void restore(Session& session, const std::filesystem::path& run_folder) {
  const std::filesystem::path from = RunFolder::open(run_folder).checkpoints();
  if (has_checkpoint(from))
    load_checkpoint(from, identity_of(session.config), *session.model.module,
                    state_of(session, {}));
  if (agree(session.group, session.at.step) != session.at.step)
    throw Error(Fault::store, from.string(), "is not the same on every rank",
                "all ranks must see the run's folder");
  if (session.folder != nullptr)
    session.folder->rewind(session.at.step, session.at.epoch);
}

}  // namespace lockstep
