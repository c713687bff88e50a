#include "node/node_metrics.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/heap/heap_format.h"
#include "engine/kamino/undo_copy_format.h"
#include "proto/session_frame.h"
#include "proto/version.h"
#include "replica/log/log_entry_format.h"
#include "replica/log/ring_format.h"
#include "replica/state/state_format.h"

namespace kamino::node {
namespace {

using kamino::v1::GetNodeStatusResponse;
using membership::Condition;
using membership::Role;
using metrics::Families;
using metrics::Labels;

// Metrics of one chain: each has its id as a label.
class ChainFamilies {
 public:
  ChainFamilies(uint64_t chain, Families* families)
      : chain_(absl::StrCat(chain)), families_(families) {}

  void Counter(const char* name, const char* help, uint64_t value,
               Labels labels = {}) {
    families_->Counter(name, help, static_cast<double>(value),
                       With(std::move(labels)));
  }
  void Gauge(const char* name, const char* help, double value,
             Labels labels = {}) {
    families_->Gauge(name, help, value, With(std::move(labels)));
  }
  void CountSeconds(const char* name, const char* help, absl::Duration time,
                    Labels labels) {
    families_->Counter(name, help, absl::ToDoubleSeconds(time),
                       With(std::move(labels)));
  }
  void Bytes(const char* name, const char* help, uint64_t value,
             Labels labels = {}) {
    Gauge(name, help, static_cast<double>(value), std::move(labels));
  }
  void Seconds(const char* name, const char* help,
               const metrics::LatencySnapshot& latencies, Labels labels) {
    families_->Seconds(name, help, latencies, With(std::move(labels)));
  }
  void State(const char* name, const char* help, const std::string& label,
             const std::vector<std::string>& states, absl::string_view state) {
    families_->State(name, help, label, states, std::string(state), With({}));
  }

 private:
  Labels With(Labels labels) const {
    labels.insert(labels.begin(), {"chain", chain_});
    return labels;
  }

  const std::string chain_;
  Families* const families_;
};

std::vector<std::string> RoleNames() {
  std::vector<std::string> names;
  for (Role role : {Role::kOutside, Role::kHead, Role::kMiddle, Role::kTail,
                    Role::kSingle}) {
    names.emplace_back(membership::RoleName(role));
  }
  return names;
}

std::vector<std::string> ConditionNames() {
  std::vector<std::string> names;
  for (int i = 0; i < membership::kConditions; ++i) {
    names.emplace_back(membership::ConditionName(static_cast<Condition>(i)));
  }
  return names;
}

// "LINK_ROLE_SUCCESSOR" as "successor".
std::string Word(absl::string_view name, absl::string_view prefix) {
  return absl::AsciiStrToLower(absl::StripPrefix(name, prefix));
}

void DescribePlace(const NodeSample& sample, ChainFamilies* out) {
  const GetNodeStatusResponse& status = sample.status;
  out->Gauge(
      "kamino_node_info",
      "1; the cluster and the name of the node, and the mode of its chain.", 1,
      {{"cluster", status.cluster_id()},
       {"node", status.node_id()},
       {"mode",
        Word(kamino::v1::ChainMode_Name(status.chain_mode()), "CHAIN_MODE_")}});
  out->State("kamino_node_role", "1 for the node's role in its view.", "role",
             RoleNames(), membership::RoleName(sample.standing.role));
  const std::vector<std::string> conditions = ConditionNames();
  out->State("kamino_node_condition", "1 for the condition of the node's heap.",
             "condition", conditions,
             membership::ConditionName(sample.standing.condition));
  for (int i = 0; i < membership::kConditions; ++i) {
    const StandingBoard::InCondition& in = sample.conditions[i];
    const Labels labels = {{"condition", conditions[i]}};
    out->Counter("kamino_node_condition_entered_total",
                 "How often the node entered that condition.", in.times,
                 labels);
    out->CountSeconds(
        "kamino_node_condition_seconds_total",
        "Time that the node spent in that condition since it started.", in.time,
        labels);
  }
  out->Gauge("kamino_node_ready",
             "1: in the view, caught up, and it holds a lease.",
             sample.standing.ready ? 1 : 0);
  out->Gauge("kamino_lease_valid",
             "1: the node holds a lease, or peer leases of all other members.",
             status.lease_valid() ? 1 : 0);
  out->Gauge("kamino_view_id", "Id of the newest view that the node knows.",
             static_cast<double>(sample.view_id));
  out->Counter("kamino_view_changes_total", "Views that the node has adopted.",
               sample.view_changes);
  out->Gauge("kamino_node_restarts",
             "Restarts since the last process that ran for ten minutes or "
             "ended in order.",
             status.restarts());
}

void DescribeRing(const GetNodeStatusResponse& status, ChainFamilies* out) {
  const std::pair<const char*, uint64_t> cursors[] = {
      {"received", status.received()},
      {"applied", status.applied()},
      {"cleaned", status.cleaned()},
      {"completed", status.completed()}};
  for (const auto& [cursor, sequence] : cursors) {
    out->Gauge("kamino_ring_cursor",
               "Last mutation that the node has brought to that cursor.",
               static_cast<double>(sequence), {{"cursor", cursor}});
  }
  out->Bytes("kamino_ring_used_bytes",
             "Bytes in the log ring that are not cleaned.",
             status.ring_bytes_used());
  out->Bytes("kamino_ring_size_bytes", "Size of the log ring.",
             status.ring_bytes_total());
  out->Counter("kamino_ring_appended_bytes_total",
               "Bytes of log entries appended to the ring.",
               status.log().appended_bytes());
  out->Counter("kamino_ring_after_image_bytes_total",
               "Bytes of after-images in the log entries appended to the ring.",
               status.log().after_image_bytes());
}

void DescribeHeap(const NodeSample& sample, ChainFamilies* out) {
  const GetNodeStatusResponse& status = sample.status;
  out->Bytes("kamino_heap_used_bytes",
             "Used bytes of the heap, including headers.",
             status.heap_bytes_used());
  out->Bytes("kamino_heap_size_bytes", "Size of the heap.",
             status.heap_bytes_total());
  const engine::HeapReserve& reserve = sample.heap_reserve;
  out->Bytes("kamino_heap_reserve_bytes",
             "Free space that the head keeps for requests that free room; 0 at "
             "other nodes.",
             reserve.bytes_kept);
  out->Bytes("kamino_heap_reserve_free_bytes",
             "Bytes of the reserve that are free in whole pages.",
             std::min(reserve.bytes_kept, reserve.bytes_whole));
  out->Gauge("kamino_heap_objects",
             "Live objects, including pages of the index.",
             static_cast<double>(status.objects()));
  const kamino::v1::UndoCopyStatus& undo = status.undo_copy();
  out->Bytes("kamino_undo_copy_used_bytes",
             "Used bytes of the undo copy; 0 without an undo copy.",
             undo.bytes_used());
  out->Bytes("kamino_undo_copy_size_bytes", "Size of the undo copy.",
             undo.bytes_total());
  out->Counter(
      "kamino_undo_copy_lookups_total",
      "Writes whose object had a copy (hit), or had to be copied first "
      "(miss), since the node became head.",
      undo.hits(), {{"result", "hit"}});
  out->Counter(
      "kamino_undo_copy_lookups_total",
      "Writes whose object had a copy (hit), or had to be copied first "
      "(miss), since the node became head.",
      undo.misses(), {{"result", "miss"}});
  out->Counter("kamino_undo_copy_evictions_total",
               "Copies dropped to make room for others.", undo.evictions());
  out->Gauge("kamino_undo_copy_pending_transactions",
             "Committed transactions that are not yet in the undo copy.",
             static_cast<double>(undo.pending_transactions()));
}

void DescribeHead(const NodeSample& sample, ChainFamilies* out) {
  const kamino::v1::AdmissionStatus& head = sample.status.admission();
  const std::pair<const char*, uint64_t> ends[] = {
      {"committed", head.committed()},
      {"aborted", head.aborted()},
      {"repeated", head.repeated()},
      {"rejected", head.rejected()}};
  for (const auto& [end, count] : ends) {
    out->Counter("kamino_head_requests_total",
                 "Mutations by their end at this node since it became head: "
                 "committed, aborted (failed), repeated (answered from a "
                 "stored outcome), rejected (overloaded).",
                 count, {{"end", end}});
  }
  out->Gauge("kamino_head_in_flight_entries",
             "Log entries that the tail has not completed.",
             static_cast<double>(head.in_flight()));
  out->Gauge("kamino_head_parked_requests",
             "Dependent requests that wait for a lock.",
             static_cast<double>(head.parked()));
  out->Bytes("kamino_head_result_bytes",
             "Bytes of results of mutations that are not completed.",
             sample.result_bytes);
  out->Gauge("kamino_head_clients", "Client ids with a stored outcome.",
             static_cast<double>(head.clients()));
  out->Counter("kamino_head_clients_evicted_total",
               "Client ids whose outcomes were dropped for others since the "
               "node became head.",
               head.evicted());
  out->Gauge("kamino_head_sessions", "Sessions that are open.",
             static_cast<double>(head.sessions()));
  out->Gauge("kamino_head_session_slots", "Slots of all open sessions.",
             static_cast<double>(head.session_slots()));
  out->Gauge(
      "kamino_head_on_probation",
      "1: the head executes requests one by one, because a head died recently.",
      head.on_probation() ? 1 : 0);
  out->Gauge(
      "kamino_head_quarantined_requests",
      "Quarantined requests: the head refuses them because they ended heads.",
      static_cast<double>(head.poisonous()));
}

void DescribeLoad(const char* what, const CallLoadStats& load,
                  ChainFamilies* out) {
  const auto with = [what](const char* reason) {
    Labels labels = {{"of", what}};
    if (reason != nullptr) labels.emplace_back("reason", reason);
    return labels;
  };
  constexpr char kShed[] = "kamino_calls_shed_total";
  constexpr char kShedHelp[] =
      "gRPC calls that were not executed or answered: overloaded (refused), "
      "given_up (the caller no longer waited), not_taken (the caller did not "
      "take the answer).";
  out->Counter(kShed, kShedHelp, load.shed, with("overloaded"));
  out->Counter(kShed, kShedHelp, load.given_up, with("given_up"));
  out->Counter(kShed, kShedHelp, load.ended, with("not_taken"));
  out->Gauge("kamino_calls_waiting",
             "gRPC calls that wait for the core thread.",
             static_cast<double>(load.waiting), with(nullptr));
  out->Bytes("kamino_calls_unsent_bytes",
             "Bytes of answers to gRPC calls that have not been sent.",
             static_cast<uint64_t>(load.unsent_bytes), with(nullptr));
}

void DescribeReads(const NodeSample& sample, ChainFamilies* out) {
  const kamino::v1::ReadStatus& reads = sample.status.reads();
  const std::pair<const char*, uint64_t> ends[] = {
      {"answered", reads.answered()},
      {"clean", reads.clean()},
      {"not_clean", reads.not_clean()}};
  for (const auto& [end, count] : ends) {
    out->Counter("kamino_reads_total",
                 "Reads by their end: answered (as tail), clean (answered by "
                 "another member), not_clean (redirected to the tail).",
                 count, {{"end", end}});
  }
  DescribeLoad("reads", sample.reads, out);
  DescribeLoad("results", sample.results, out);
}

void DescribeLinks(const NodeSample& sample, ChainFamilies* out) {
  const auto& links = sample.status.links();
  for (int i = 0; i < links.size(); ++i) {
    const kamino::v1::LinkStatus& link = links[i];
    const LinkHub::Traffic& traffic = sample.links[i];
    const Labels labels = {
        {"peer", link.peer()},
        {"to", Word(kamino::v1::LinkRole_Name(link.role()), "LINK_ROLE_")},
        {"transport", link.transport()}};
    out->Gauge("kamino_link_connected", "1: the link to that node is in use.",
               link.connected() ? 1 : 0, labels);
    constexpr char kMessages[] = "kamino_link_messages_total";
    constexpr char kMessagesHelp[] =
        "Messages of the chain over the present link.";
    constexpr char kBytes[] = "kamino_link_bytes_total";
    constexpr char kBytesHelp[] = "Bytes of these messages.";
    Labels sent = labels;
    sent.emplace_back("direction", "sent");
    Labels received = labels;
    received.emplace_back("direction", "received");
    out->Counter(kMessages, kMessagesHelp, traffic.sent_messages, sent);
    out->Counter(kMessages, kMessagesHelp, traffic.received_messages, received);
    out->Counter(kBytes, kBytesHelp, traffic.sent_bytes, std::move(sent));
    out->Counter(kBytes, kBytesHelp, traffic.received_bytes,
                 std::move(received));
    out->Bytes("kamino_link_waiting_bytes",
               "Bytes of messages that wait for credits of the link.",
               traffic.waiting_bytes, labels);
    out->Counter("kamino_link_credit_waits_total",
                 "How often a message found no credits.", traffic.credit_waits,
                 labels);
  }
  const kamino::v1::TurnedDownStatus& down = sample.status.turned_down();
  const std::pair<const char*, uint64_t> reasons[] = {
      {"rejected", down.rejected()},
      {"stray", down.stray()},
      {"malformed", down.malformed()}};
  for (const auto& [reason, count] : reasons) {
    out->Counter(
        "kamino_link_rejected_messages_total",
        "Messages that were not accepted: rejected (answered with the reason), "
        "stray (out of turn), malformed (which ended their link).",
        count, {{"reason", reason}});
  }
  const LinkHub::Ended& ended = sample.links_ended;
  const std::pair<const char*, uint64_t> ends[] = {{"impostor", ended.impostor},
                                                   {"denied", ended.denied},
                                                   {"nonsense", ended.nonsense},
                                                   {"unused", ended.unused}};
  for (const auto& [reason, count] : ends) {
    out->Counter("kamino_links_ended_total",
                 "Links that the node ended: impostor (the peer has another "
                 "identity than expected), denied (the peer may not have a "
                 "link any more), nonsense (an undecodable message), unused "
                 "(the node does not need the link).",
                 count, {{"reason", reason}});
  }
}

void DescribeRepair(const GetNodeStatusResponse& status, ChainFamilies* out) {
  const kamino::v1::TransferStatus& transfer = status.transfer();
  out->Gauge("kamino_transfer_active",
             "1: a state transfer in that direction is under way.",
             transfer.sending() ? 1 : 0, {{"direction", "sending"}});
  out->Gauge("kamino_transfer_active",
             "1: a state transfer in that direction is under way.",
             transfer.receiving() ? 1 : 0, {{"direction", "receiving"}});
  out->Bytes("kamino_transfer_bytes", "Bytes of the last transfer, so far.",
             transfer.bytes());
  out->Bytes("kamino_transfer_left_bytes",
             "Bytes that the present pass of the transfer has yet to send.",
             transfer.bytes_left());
  out->Counter("kamino_transfers_total",
               "State transfers begun, at either side.", transfer.begun());
  out->Counter("kamino_transfers_damaged_total",
               "State transfers that ended because of invalid data.",
               transfer.damaged());
  out->Gauge("kamino_transfer_changed_pages",
             "Pages of the last transfer at its beginning, if it sent only "
             "changed pages; otherwise 0.",
             transfer.of_changes() ? static_cast<double>(transfer.pages()) : 0);
  out->Counter("kamino_transfers_resumed_total",
               "State transfers of log entries only, at either side.",
               transfer.went_on());
  out->Counter("kamino_catch_ups_total",
               "State transfers of changed pages only, at either side.",
               transfer.caught_up());
  for (const auto& [reason, count] : transfer.whole()) {
    out->Counter("kamino_whole_heaps_sent_total",
                 "State transfers of the whole heap, at the sender, by reason.",
                 count, {{"reason", reason}});
  }
  const kamino::v1::ScrubStatus& scrub = status.scrub();
  out->Gauge("kamino_scrub_on", "1: the node scrubs when it is head.",
             scrub.on() ? 1 : 0);
  out->Gauge("kamino_scrub_progress_ratio", "Progress of the present pass.",
             scrub.ranges() == 0 ? 0
                                 : static_cast<double>(scrub.next()) /
                                       static_cast<double>(scrub.ranges()));
  out->Counter("kamino_scrub_passes_total", "Passes over the whole heap.",
               scrub.passes());
  out->Gauge(
      "kamino_scrub_last_pass_age_seconds",
      "Time since the last complete pass ended, or since the process started.",
      static_cast<double>(scrub.passes() > 0 ? scrub.ended_ms_ago()
                                             : status.uptime_ms()) /
          1000);
  out->Gauge("kamino_scrub_last_pass_seconds",
             "Duration of the last complete pass; 0 without one.",
             static_cast<double>(scrub.took_ms()) / 1000);
  out->Counter("kamino_scrub_differences_total",
               "Comparisons in which members differed.", scrub.differences());
  out->Counter("kamino_scrub_unanswered_total", "Comparisons without a result.",
               scrub.unanswered());
  out->Gauge("kamino_scrub_unresolved",
             "1: the members differ, and it is undecided which node is wrong; "
             "the node serves nothing.",
             scrub.in_doubt() ? 1 : 0);
  out->Gauge("kamino_divergence",
             "1: divergence: a log entry has another result at this node than "
             "at the head.",
             status.disputed() != 0 ? 1 : 0);
}

void DescribeSnapshots(const NodeSample& sample, ChainFamilies* out) {
  out->Gauge("kamino_snapshots_open", "Open snapshots.",
             static_cast<double>(sample.snapshots.open));
  out->Bytes("kamino_snapshot_used_bytes",
             "Bytes that open snapshots keep of changed data.",
             sample.snapshots.bytes);
  out->Counter("kamino_snapshots_aborted_total",
               "Snapshots that ended because too much had changed.",
               sample.snapshots.aborted);
  out->Counter("kamino_backups_saved_total",
               "Complete backups that were saved from this node.",
               sample.backups);
  out->Counter("kamino_backup_saved_bytes_total",
               "Bytes of the records of complete backups that were saved from "
               "this node.",
               sample.backup_bytes);
  // Without a backup there is no metric, rather than a value that looks like an
  // age.
  if (sample.backups == 0) return;
  out->Gauge("kamino_backup_last_success_age_seconds",
             "Time since the last complete backup was saved from this node.",
             absl::ToDoubleSeconds(sample.since_backup));
}

}  // namespace

void DescribeBuild(Families* families) {
  families->Gauge(
      "kamino_build_info",
      "1; the program's version, and those of its formats.", 1,
      {{"version", kVersion},
       {"heap", absl::StrCat(engine::heap_format::kHeapVersion)},
       {"undo_copy", absl::StrCat(engine::undo_copy_format::kUndoCopyVersion)},
       {"ring", absl::StrCat(replica::ring_format::kRingVersion)},
       {"entry", absl::StrCat(replica::log_entry_format::kEntryVersion)},
       {"state", absl::StrCat(replica::state_format::kStateVersion)},
       {"session", absl::StrCat(session::kVersion)}});
}

void DescribeNode(const NodeSample& sample, ChainId chain, absl::Duration age,
                  Families* families) {
  ChainFamilies out(chain, families);
  out.Gauge("kamino_core_sample_age_seconds",
            "Age of the core thread's values on this page; more than 0 if it "
            "did not answer in time.",
            absl::ToDoubleSeconds(age));
  DescribePlace(sample, &out);
  DescribeRing(sample.status, &out);
  DescribeHeap(sample, &out);
  DescribeSnapshots(sample, &out);
  DescribeHead(sample, &out);
  DescribeReads(sample, &out);
  DescribeLinks(sample, &out);
  DescribeRepair(sample.status, &out);
}

void DescribeStages(const StageTimes& stages, ChainId chain,
                    Families* families) {
  ChainFamilies out(chain, families);
  for (int i = 0; i < replica::kStages; ++i) {
    const auto stage = static_cast<replica::Stage>(i);
    out.Seconds("kamino_stage_seconds",
                "Time of requests (admit, lock) and log entries (the other "
                "stages, sampled) in each stage.",
                stages.Read(stage), {{"stage", std::string(StageName(stage))}});
  }
}

}  // namespace kamino::node
