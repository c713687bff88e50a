#include "replica/outbox.h"

#include <iterator>
#include <utility>
#include <vector>

namespace kamino::replica {

using kamino::internal::v1::ChainMessage;
using kamino::internal::v1::LinkPurpose;

namespace {

template <typename T>
void MoveAll(std::vector<T>* from, std::vector<T>* to) {
  to->insert(to->end(), std::make_move_iterator(from->begin()),
             std::make_move_iterator(from->end()));
  from->clear();
}

}  // namespace

ChainMessage& Outbox::Send(LinkId link) {
  actions_.send.push_back({link, {}});
  ChainMessage& message = actions_.send.back().message;
  message.set_view_id(view_id_);
  return message;
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
  actions_.open.push_back({link, member, purpose});
  return link;
}

void Outbox::Close(LinkId link) {
  if (link != kNoLink) actions_.close.push_back(link);
}

void Outbox::Fail(absl::Status status) {
  failed_ = true;
  if (actions_.fatal.ok()) actions_.fatal = std::move(status);
}

bool Outbox::Belongs(bool on_its_link) {
  if (!on_its_link) ++turned_down_.stray;
  return on_its_link;
}

void Outbox::TakeInto(Actions* to) {
  MoveAll(&actions_.close, &to->close);
  MoveAll(&actions_.open, &to->open);
  MoveAll(&actions_.send, &to->send);
  to->fetch_view |= std::exchange(actions_.fetch_view, false);
  if (actions_.completed != 0) {
    to->completed = std::exchange(actions_.completed, 0);
  }
  absl::Status fatal = std::exchange(actions_.fatal, absl::OkStatus());
  if (to->fatal.ok()) to->fatal = std::move(fatal);
}

}  // namespace kamino::replica
