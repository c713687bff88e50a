// A node's manager as a test plays it: every lease is valid, views come by the
// test's hand.
#ifndef KAMINO_TESTS_NODE_DRIVER_FIXED_VIEWS_H_
#define KAMINO_TESTS_NODE_DRIVER_FIXED_VIEWS_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "membership/agent/view_source.h"
#include "membership/view.h"

namespace kamino::node {

struct FixedViews : membership::ViewSource {
  absl::Status Start(const membership::Member& member,
                     membership::ViewSourceCallbacks to_call) override {
    self = member;
    callbacks = std::move(to_call);
    return absl::OkStatus();
  }
  void RestBeforeStart(absl::Duration) override {}
  void Stop() override {}
  void NoteProgress() override {}
  bool LeaseValid(uint64_t) const override { return lease; }
  void RequestView() override {}
  void SetReport(const membership::NodeReport& to_send) override {
    report = to_send;
  }

  bool lease = true;
  membership::Member self;  // as it runs, or ran
  membership::NodeReport report;
  membership::ViewSourceCallbacks callbacks;
};

}  // namespace kamino::node

#endif  // KAMINO_TESTS_NODE_DRIVER_FIXED_VIEWS_H_
