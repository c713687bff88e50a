// A node's description of itself.
#include <string>

#include "head/reserve.h"
#include "membership/records.h"
#include "node/driver/node.h"
#include "proto/version.h"

namespace kamino::node {
namespace {

kamino::v1::UndoCopyStatus ToProto(const engine::UndoCopyStats& stats,
                                   const StorageOptions& options) {
  kamino::v1::UndoCopyStatus undo_copy;
  switch (options.undo_copy) {
    case UndoCopyKind::kSimple:
      undo_copy.set_kind(kamino::v1::UNDO_COPY_KIND_SIMPLE);
      undo_copy.set_alpha(1.0);
      break;
    case UndoCopyKind::kDynamic:
      undo_copy.set_kind(kamino::v1::UNDO_COPY_KIND_DYNAMIC);
      undo_copy.set_alpha(options.alpha);
      break;
    case UndoCopyKind::kLog:
      undo_copy.set_kind(kamino::v1::UNDO_COPY_KIND_LOG);
      break;
  }
  undo_copy.set_hits(stats.hits);
  undo_copy.set_misses(stats.misses);
  undo_copy.set_evictions(stats.evictions);
  undo_copy.set_bytes_used(stats.bytes_used);
  undo_copy.set_bytes_total(stats.bytes_total);
  return undo_copy;
}

kamino::v1::AdmissionStatus ToProto(const head::AdmissionStats& stats) {
  kamino::v1::AdmissionStatus admission;
  admission.set_in_flight(stats.in_flight);
  admission.set_parked(stats.parked);
  admission.set_committed(stats.committed);
  admission.set_aborted(stats.aborted);
  admission.set_repeated(stats.repeated);
  admission.set_rejected(stats.rejected);
  admission.set_clients(stats.clients);
  admission.set_evicted(stats.evicted);
  admission.set_on_probation(stats.on_probation);
  admission.set_poisonous(stats.poisonous);
  admission.set_sessions(stats.sessions);
  admission.set_session_slots(stats.session_slots);
  return admission;
}

kamino::v1::HeapRoomStatus ToProto(const head::HeapRoom& room) {
  kamino::v1::HeapRoomStatus status;
  status.set_free_bytes(room.free);
  status.set_reserve_bytes(room.reserve);
  status.set_reserve_free_bytes(room.reserve_whole);
  status.set_full(room.is_full);
  return status;
}

kamino::v1::ScrubStatus ToProto(const replica::Scrub& scrub, absl::Time now) {
  const replica::ScrubStats& stats = scrub.stats();
  kamino::v1::ScrubStatus status;
  status.set_on(stats.on);
  status.set_ranges(stats.ranges);
  status.set_range_bytes(stats.range_bytes);
  status.set_next(stats.next);
  status.set_passes(stats.passes);
  if (stats.passes > 0) {
    status.set_ended_ms_ago(absl::ToInt64Milliseconds(now - stats.ended));
    status.set_took_ms(absl::ToInt64Milliseconds(stats.took));
  }
  status.set_differences(stats.differences);
  status.set_last_found(stats.last_found);
  status.set_in_doubt(scrub.has_unresolved_range());
  status.set_unanswered(stats.unanswered);
  status.set_between_passes(stats.between_passes);
  return status;
}

kamino::v1::TransferStatus ToProto(const replica::TransferStats& transfer) {
  kamino::v1::TransferStatus status;
  status.set_sending(transfer.sending);
  status.set_receiving(transfer.receiving);
  status.set_bytes(transfer.bytes);
  status.set_begun(transfer.begun);
  status.set_damaged(transfer.damaged);
  status.set_pass(transfer.pass);
  status.set_bytes_left(transfer.bytes_left);
  status.set_of_changes(transfer.of_changes);
  status.set_pages(transfer.pages);
  status.set_went_on(transfer.went_on);
  status.set_caught_up(transfer.caught_up);
  for (size_t i = 0; i < replica::kWholeHeapReasons; ++i) {
    const auto reason = static_cast<replica::WholeHeapFor>(i);
    (*status.mutable_whole())[std::string(replica::NameOf(reason))] =
        transfer.whole[i];
  }
  return status;
}

}  // namespace

void Node::Describe(ChainNode& node,
                    kamino::v1::GetNodeStatusResponse* response) {
  const replica::ChainCore& core = node.core();
  const replica::LogRing& ring = core.ring();
  Storage& storage = *context_->storage;
  response->set_cluster_id(options().chain.cluster_id);
  response->set_node_id(node_id());
  response->set_role(membership::ToProto(core.place().role()));
  response->set_chain_mode(membership::ToProto(storage.options().mode));
  response->set_version(kVersion);
  response->set_uptime_ms(absl::ToInt64Milliseconds(Now() - context_->started));
  response->set_lease_valid(context_->views->LeaseValid(core.view().id));
  response->set_received(ring.received());
  response->set_applied(ring.applied());
  response->set_cleaned(ring.cleaned());
  response->set_completed(core.progress().completed());
  response->set_restarts(storage.record()->state().restarts);
  response->set_condition(membership::ToProto(core.soundness().condition()));
  response->set_disputed(core.soundness().disputed());
  *response->mutable_transfer() = ToProto(core.transfer());
  *response->mutable_scrub() = ToProto(core.scrub(), Now());
  kamino::v1::LogStatus* const log = response->mutable_log();
  log->set_appended_bytes(ring.appended().bytes);
  log->set_after_image_bytes(ring.appended().image_bytes);
  response->set_ring_bytes_used(ring.space().used());
  response->set_ring_bytes_total(ring.space().total());
  const engine::HeapStats heap = node.heap().stats();
  response->set_heap_bytes_used(heap.bytes_used);
  response->set_heap_bytes_total(heap.bytes_total);
  response->set_objects(heap.objects);
  if (const auto stats = node.head().store_stats()) {
    auto* undo_copy = response->mutable_undo_copy();
    *undo_copy = ToProto(stats->undo_copy, storage.options());
    undo_copy->set_pending_transactions(stats->unpropagated);
  } else if (const auto* undo = storage.local_undo()) {
    *response->mutable_undo_copy() = ToProto(undo->stats(), storage.options());
  }
  if (const auto stats = node.head().admission_stats()) {
    *response->mutable_admission() = ToProto(*stats);
    *response->mutable_heap_room() = ToProto(head::RoomOf(node.heap()));
  }
  const CallLoadStats reads = meters().reads.stats();
  response->mutable_reads()->set_waiting(reads.waiting);
  response->mutable_reads()->set_unsent_bytes(reads.unsent_bytes);
  response->mutable_reads()->set_shed(reads.shed);
  response->mutable_reads()->set_given_up(reads.given_up);
  response->mutable_reads()->set_answered(node.reads().stats().answered);
  response->mutable_reads()->set_clean(node.reads().stats().clean);
  response->mutable_reads()->set_not_clean(node.reads().stats().not_clean);
  const replica::TurnedDown& turned_down = core.turned_down();
  response->mutable_turned_down()->set_rejected(turned_down.rejected);
  response->mutable_turned_down()->set_stray(turned_down.stray);
  response->mutable_turned_down()->set_malformed(turned_down.malformed);
  for (const auto& state : core.link_table().All()) {
    kamino::v1::LinkStatus* link = response->add_links();
    link->set_peer(state.peer);
    link->set_role(state.role);
    link->set_transport(context_->links->TransportOf(state.link));
    link->set_connected(state.connected);
    const LinkHub::Traffic traffic = context_->links->TrafficOf(state.link);
    link->set_sent_messages(traffic.sent_messages);
    link->set_sent_bytes(traffic.sent_bytes);
  }
}

void Node::Sample(ChainNode& node, NodeSample* sample) {
  Describe(node, &sample->status);
  const StandingBoard::Conditions& conditions =
      standing_.ConditionsUntil(Now());
  sample->standing = standing();
  sample->view_id = node.core().view().id;
  sample->view_changes = view_follower_.view_changes();
  sample->reads = meters().reads.stats();
  sample->results = meters().results.stats();
  sample->snapshots = node.snapshots().stats();
  sample->heap_reserve = node.heap().reserve();
  const SavedBackups& backups = meters().backups;
  sample->backups = backups.count();
  sample->backup_bytes = backups.bytes();
  sample->since_backup = backups.Age(Now());
  if (const auto stats = node.head().admission_stats()) {
    sample->result_bytes = stats->result_bytes;
  }
  for (const auto& state : node.core().link_table().All()) {
    sample->links.push_back(context_->links->TrafficOf(state.link));
  }
  sample->links_ended = context_->links->ended();
  sample->conditions = conditions;
}

}  // namespace kamino::node
