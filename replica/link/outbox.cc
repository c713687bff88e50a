#include "replica/link/outbox.h"

#include <utility>

#include "glog/logging.h"

namespace kamino::replica {

using kamino::internal::v1::Append;
using kamino::internal::v1::ChainMessage;
using kamino::internal::v1::LinkPurpose;

ChainMessage& Outbox::Send(LinkId link) {
  actions_->send.push_back({link, {}, {}});
  ChainMessage& message = actions_->send.back().message;
  message.set_chain_id(chain_id_);
  message.set_view_id(view_id_);
  return message;
}

Append* Outbox::SendEntry(LinkId link, const LogEntry& entry) {
  Append* append = Send(link).mutable_append();
  actions_->send.back().payload = entry.bytes();
  return append;
}

void Outbox::Reject(LinkId link, std::string reason, bool behind) {
  ++turned_down_.rejected;
  ChainMessage& message = Send(link);
  message.mutable_reject()->set_reason(std::move(reason));
  message.mutable_reject()->set_behind(behind);
}

LinkId Outbox::Open(const membership::Member& member, LinkPurpose purpose) {
  const LinkId link = next_link_;
  next_link_ += 2;
  actions_->open.push_back({link, member, purpose});
  return link;
}

void Outbox::Close(LinkId link) {
  if (link != kNoLink) actions_->close.push_back(link);
}

void Outbox::Fail(absl::Status status) {
  CHECK(!status.ok());
  failed_ = true;
  if (actions_->fatal.ok()) actions_->fatal = std::move(status);
}

void Outbox::ProtocolError(LinkId link, std::string why) {
  ++turned_down_.malformed;
  failed_links_.push_back({link, std::move(why)});
}

bool Outbox::Belongs(bool on_its_link) {
  if (!on_its_link) ++turned_down_.stray;
  return on_its_link;
}

}  // namespace kamino::replica
