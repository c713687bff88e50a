#include "node/hand_over.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/clock.h"
#include "glog/logging.h"
#include "logs/log.h"
#include "node/driver/view_board.h"
#include "server/server_program.h"

namespace kamino::node {
namespace {

// More than all states of a departure together.
constexpr absl::Duration kHandOverTime = absl::Seconds(6);
constexpr absl::Duration kRedirecting = absl::Milliseconds(200);
constexpr absl::Duration kLookAgain = absl::Milliseconds(5);

// Whether the newest chain that this node knows contains it.
bool IsMember(Node* node) {
  const ViewBoard::Snapshot chain = node->view_board().current();
  return std::any_of(chain->nodes().begin(), chain->nodes().end(),
                     [node](const kamino::v1::Member& member) {
                       return member.node_id() == node->node_id();
                     });
}

}  // namespace

void HandOver(Node* node, const std::function<bool()>& has_failed) {
  if (has_failed()) return;
  const bool is_member = IsMember(node);
  // Shared, because the callback may run after this function has returned.
  struct Outcome {
    absl::Notification over;
    std::atomic<bool> has_left{false};
  };
  const auto outcome = std::make_shared<Outcome>();
  node->planned_stop().HandOver([outcome](bool has_left) {
    outcome->has_left = has_left;
    outcome->over.Notify();
  });
  const absl::Time end = MonotonicNow() + kHandOverTime;
  bool again = false;
  while (!again && !outcome->over.HasBeenNotified() && MonotonicNow() < end) {
    again = server::IsAskedAgainToEnd(kLookAgain);
  }
  if (has_failed()) return;
  if (!outcome->has_left && !is_member) {
    LOG(INFO)
        << "this node is no member of the chain and ends without a handover";
    return;
  }
  if (!outcome->has_left) {
    LOG(INFO) << "this node keeps its place in the chain"
              << (again ? ": it was asked to end once more" : "");
    return;
  }
  LOG(INFO) << "the chain continues without this node, and keeps its place for "
               "a while";
  // Requests that still arrive are redirected.
  const absl::Time served = MonotonicNow() + kRedirecting;
  while (!again && MonotonicNow() < served) {
    again = server::IsAskedAgainToEnd(kLookAgain);
  }
}

EndsInTime::EndsInTime() : thread_([this] { Run(); }) {}

EndsInTime::~EndsInTime() {
  ended_.Notify();
  thread_.join();
}

void EndsInTime::Run() {
  pthread_setname_np(pthread_self(), "ends_in_time");
  if (ended_.WaitForNotificationWithTimeout(kLongest)) return;
  logs::SayLast(google::GLOG_ERROR,
                "kamino_node: a part of the process does not end within its "
                "time limit; the process exits anyway");
  _exit(1);
}

}  // namespace kamino::node
