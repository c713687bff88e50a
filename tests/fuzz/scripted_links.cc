#include "tests/fuzz/scripted_links.h"

#include <utility>
#include <vector>

#include "glog/logging.h"
#include "replica/link/chain_frame.h"

namespace kamino::fuzz {

using transport::AcceptCallback;
using transport::Capabilities;
using transport::Link;
using transport::LinkHandler;
using transport::Listener;
using transport::Transport;
using transport::TransportFactory;

namespace {

constexpr Capabilities kScripted = {.name = "tcp"};

}  // namespace

class ScriptedLink final : public Link {
 public:
  ScriptedLink(ScriptedLinks* links, uint64_t number)
      : links_(links), number_(number) {}

  absl::Status Send(absl::Span<const std::byte> header,
                    absl::Span<const std::byte> payload) override {
    const ScriptedLinks::End* end = links_->Find(number_);
    if (end == nullptr || !end->established || end->closed) {
      return absl::UnavailableError("the link is not open");
    }
    ++links_->done_.calls;
    links_->done_.bytes += header.size() + payload.size();
    if (!peer_identity().empty()) CheckRejects(header, payload);
    return absl::OkStatus();
  }
  void Close() override {
    ++links_->done_.calls;
    if (ScriptedLinks::End* end = links_->Find(number_)) end->closed = true;
  }
  Capabilities capabilities() const override { return kScripted; }
  std::string peer() const override { return "a script"; }
  std::string peer_identity() const override {
    return number_ % 2 == 0 ? links_->stranger_ : "";
  }

 private:
  static void CheckRejects(absl::Span<const std::byte> header,
                           absl::Span<const std::byte> payload) {
    std::string bytes(reinterpret_cast<const char*>(header.data()),
                      header.size());
    bytes.append(reinterpret_cast<const char*>(payload.data()), payload.size());
    const auto frame = replica::DecodeFrame(bytes);
    CHECK(frame.ok() && frame->message.has_reject())
        << "a stranger is told more than that he is turned away";
  }

  ScriptedLinks* const links_;
  const uint64_t number_;
};

class ScriptedListener final : public Listener {
 public:
  ScriptedListener(ScriptedLinks* links, std::string address)
      : links_(links), address_(std::move(address)) {}
  ~ScriptedListener() override { links_->acceptor_ = nullptr; }
  const std::string& address() const override { return address_; }

 private:
  ScriptedLinks* const links_;
  const std::string address_;
};

class ScriptedTransport final : public Transport {
 public:
  explicit ScriptedTransport(ScriptedLinks* links) : links_(links) {}
  ~ScriptedTransport() override { links_->FinishAll(); }

  absl::StatusOr<std::unique_ptr<Listener>> Listen(
      const std::string& address, AcceptCallback acceptor) override {
    CHECK(links_->acceptor_ == nullptr);
    links_->acceptor_ = std::move(acceptor);
    return std::make_unique<ScriptedListener>(links_, address);
  }
  absl::StatusOr<std::shared_ptr<Link>> Connect(
      const std::string&, std::shared_ptr<LinkHandler> handler) override {
    ++links_->done_.calls;
    const uint64_t number =
        std::exchange(links_->next_opened_, links_->next_opened_ + 2);
    ScriptedLinks::End& end = links_->ends_[number];
    end.handler = std::move(handler);
    end.link = std::make_shared<ScriptedLink>(links_, number);
    return end.link;
  }

 private:
  ScriptedLinks* const links_;
};

TransportFactory ScriptedLinks::Transports() {
  return {kScripted, [this](const transport::TransportOptions&) {
            return std::make_unique<ScriptedTransport>(this);
          }};
}

ScriptedLinks::End* ScriptedLinks::Find(uint64_t link) {
  const auto found = ends_.find(link);
  return found == ends_.end() ? nullptr : &found->second;
}

void ScriptedLinks::Accept() {
  const uint64_t number = std::exchange(next_accepted_, next_accepted_ + 2);
  End& end = ends_[number];
  end.established = true;
  end.link = std::make_shared<ScriptedLink>(this, number);
  end.handler = acceptor_(end.link);
  CHECK(end.handler != nullptr);
}

void ScriptedLinks::Establish(uint64_t link) {
  End* const end = Find(link);
  if (end == nullptr || end->established || end->closed) return;
  end->established = true;
  end->handler->OnConnected(end->link);
}

void ScriptedLinks::Break(uint64_t link) {
  if (Find(link) == nullptr) return;
  Finish(link, absl::UnavailableError("the script broke it"));
}

void ScriptedLinks::Message(uint64_t link, absl::string_view bytes) {
  End* const end = Find(link);
  if (end == nullptr || !end->established || end->closed) return;
  end->handler->OnMessage(
      {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
}

void ScriptedLinks::Settle() {
  std::vector<uint64_t> closed;
  for (const auto& [number, end] : ends_) {
    if (end.closed) closed.push_back(number);
  }
  for (const uint64_t number : closed) {
    Finish(number, absl::CancelledError("closed by this side"));
  }
}

void ScriptedLinks::Finish(uint64_t link, const absl::Status& why) {
  const auto end = ends_.extract(link);
  end.mapped().handler->OnClosed(why);
}

void ScriptedLinks::FinishAll() {
  while (!ends_.empty()) {
    Finish(ends_.begin()->first, absl::CancelledError("being destroyed"));
  }
}

}  // namespace kamino::fuzz
