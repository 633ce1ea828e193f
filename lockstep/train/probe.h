// SPDX-License-Identifier: Apache-2.0
// `lockstep probe`: what this machine's device and the links of a group do,
// measured, as the figures a hardware file holds.
#pragma once

#include <vector>

#include "lockstep/comm/group.h"
#include "lockstep/device/device.h"
#include "lockstep/hardware/device_spec.h"
#include "lockstep/hardware/hardware_file.h"
#include "lockstep/hardware/link.h"

namespace lockstep {

// Products of matrices in each precision the device has, copies in its memory
// and from the host, and the smallest operation. About two seconds.
DeviceSpec probe_device(Device& device);

// Collective. Time against size of all-reduce, broadcast, reduce, all-gather
// and reduce-scatter on the group's ranks, with tensors on `device`; the same
// on every rank. Sizes are of the whole vector.
std::vector<LinkCurve> probe_link(Group& group, const c10::Device& device);

// Collective. How much slower ranks of CPUs compute while a message is in
// flight, as a share: a message of 8 MiB beside products that take twice its
// time, against both by themselves. 0: all of it hides; 99: nothing does.
double probe_contention(Group& group);

// Those curves as a link of a hardware file.
Link measured_link(std::vector<LinkCurve> curves, bool one_host);

// Each pair with the rate and the latency of copies from one to the other.
std::vector<DevicePair> probe_pairs(std::vector<DevicePair> pairs);

// Collective. Whether all ranks are on one host.
bool on_one_host(Group& group);

}  // namespace lockstep
