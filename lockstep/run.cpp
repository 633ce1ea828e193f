// SPDX-License-Identifier: Apache-2.0
// The story of a run, from settings to record. Each line is a stage; its
// folder holds the details.
#include "lockstep/run.h"

#include <optional>

#include "lockstep/comm/group.h"
#include "lockstep/core/clock.h"
#include "lockstep/plan/work_plan.h"
#include "lockstep/train/checkpoint.h"
#include "lockstep/train/prepare.h"
#include "lockstep/train/trainer.h"

namespace lockstep {
namespace {

// Goes on where the folder's last checkpoint left off, or starts anew when the
// run was cut off before the first one.
void restore(Session& session, RunFolder& folder) {
  if (has_checkpoint(folder.checkpoints()))
    load_checkpoint(folder.checkpoints(), identity_of(session.config),
                    *session.model.module, state_of(session));
  if (session.group.rank() == 0)
    folder.rewind(session.at.step, session.at.epoch);
}

}  // namespace

RunRecord run(const RunConfig& asked, const RunOptions& options, Group& group) {
  // What to train on, and with what.
  const std::unique_ptr<Device> device = prepare_device(asked, group);
  const DataSplit data = open_data(asked.data, asked.model);
  const RunConfig config = complete(asked, data);
  Model model = prepare_model(config, *device);
  FlatParams params(*model.module);
  Optimizer optimizer(config.optim, params, *device);
  const std::optional<Resident> resident = hold_resident(config, data, *device);

  // How ranks stay together, and what is measured.
  Recorder recorder(group.rank(), device->time_source(),
                    {config.measure.record, config.measure.every});
  const std::unique_ptr<Strategy> strategy =
      make_strategy({config, model, params, *device, group, recorder});

  // Where it is kept.
  std::optional<RunFolder> folder =
      open_folder(config, options, group, *device);
  RunRecord record = begin_record(config, options, group, data, *strategy);
  if (folder) folder->write_record(record);

  // Train.
  Session session{config,
                  *device,
                  group,
                  model,
                  params,
                  optimizer,
                  *strategy,
                  recorder,
                  data,
                  resident ? &*resident : nullptr,
                  folder ? &*folder : nullptr,
                  options.stop};
  if (options.resume) restore(session, *folder);
  strategy->start();
  recorder.set_origin(now_s() - session.elapsed_s);
  try {
    finish_record(record, train(session), session);
  } catch (const std::exception& e) {
    record_failure(record, session, e);
    throw;
  }
  return record;
}

}  // namespace lockstep
