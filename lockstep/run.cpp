// SPDX-License-Identifier: Apache-2.0
// The story of a run, from settings to record. Each line is a stage; its
// folder holds the details.
#include "lockstep/run.h"

#include <optional>

#include "lockstep/plan/work_plan.h"
#include "lockstep/train/emulate.h"
#include "lockstep/train/prepare.h"
#include "lockstep/train/restore.h"
#include "lockstep/train/trainer.h"

namespace lockstep {

RunRecord run(const RunConfig& asked, const RunOptions& options, Group& group) {
  // What to train on, and with what.
  const std::unique_ptr<Device> device = prepare_device(asked, group);
  const DataSplit data = open_data(asked.data, asked.model);
  const RunConfig config = complete(asked, data);
  Model model = prepare_model(config, *device);
  whiten_stem(config, data, model, *device);
  FlatParams params(*model.module);
  Optimizer optimizer(config.optim, params, *device);
  ResidentSets resident = hold_resident(config, data, *device);

  // How ranks stay together, and what is measured.
  Recorder recorder(group.rank(), device->time_source(),
                    {config.measure.record, config.measure.every});
  const std::unique_ptr<Group> emulated = emulate(config);
  Group& cluster = emulated ? *emulated : group;
  const std::unique_ptr<Strategy> strategy =
      make_strategy({config, model, params, *device, cluster, recorder});

  // Where it is kept.
  std::optional<RunFolder> folder =
      open_folder(config, options, group, *device);
  RunRecord record = begin_record(config, options, cluster, data, *strategy);
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
                  resident,
                  folder ? &*folder : nullptr,
                  options.stop,
                  first_batch(config)};
  strategy->share_out(optimizer);
  if (options.resume) restore(session, options.folder);
  strategy->start();
  recorder.set_origin(shared_origin(group, session.elapsed_s));
  try {
    finish_record(record, train(session), session);
  } catch (const std::exception& e) {
    record_failure(record, session, e);
    throw;
  }
  return record;
}

}  // namespace lockstep
