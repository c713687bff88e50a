#include "tests/simulation/strangers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "replica/link/chain_frame.h"

namespace kamino::simulation {

using kamino::internal::v1::ChainMessage;
using transport::Link;

namespace {

// As replica::EncodeFrameHead, with maps in one order, so that a seed
// determines its run.
std::string Encode(const ChainMessage& message) {
  std::string body;
  {
    google::protobuf::io::StringOutputStream bytes(&body);
    google::protobuf::io::CodedOutputStream out(&bytes);
    out.SetSerializationDeterministic(true);
    message.SerializeToCodedStream(&out);
  }
  std::string frame = replica::EncodeFrameHead(message);
  return frame.replace(frame.size() - body.size(), body.size(), body);
}

constexpr size_t kKept = 48;
constexpr size_t kMostLinks = 4;
constexpr absl::Duration kMostSilence = absl::Milliseconds(120);
constexpr absl::Duration kLinkLasts = absl::Seconds(1);

absl::Span<const std::byte> AsBytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

void Keep(std::string frame, std::deque<std::string>* kept) {
  kept->push_back(std::move(frame));
  if (kept->size() > kKept) kept->pop_front();
}

}  // namespace

class Strangers::Ear final : public transport::LinkHandler {
 public:
  // Sends all of `words` once it is connected.
  Ear(Strangers* strangers, std::string who, std::vector<std::string> words)
      : strangers_(strangers), who_(std::move(who)), words_(std::move(words)) {}

  void OnConnected(const std::shared_ptr<Link>& link) override {
    for (const std::string& word : words_) (void)link->Send(AsBytes(word), {});
  }
  void OnMessage(absl::Span<const std::byte> message) override {
    strangers_->Hear(
        who_, {reinterpret_cast<const char*>(message.data()), message.size()});
  }
  void OnClosed(const absl::Status&) override {}

 private:
  Strangers* const strangers_;
  const std::string who_;
  const std::vector<std::string> words_;
};

class Strangers::Stranger final : public Process {
 public:
  Stranger(World* world, TimedNetwork* network, const std::string& name)
      : Process(world, name) {
    Begin();
    transport::TransportOptions options;
    options.era = [] { return ~uint64_t{0}; };  // it is never behind
    for (const bool verbs : {false, true}) {
      transport::Capabilities kind = {.name = verbs ? "verbs" : "tcp"};
      transports_.push_back(*network->Transports(this, kind).Make(options));
    }
  }
  ~Stranger() override {
    End();
    links_.clear();
    transports_.clear();
  }

  void Knock(const std::string& at, bool verbs, std::shared_ptr<Ear> ear) {
    auto link = transports_[verbs ? 1 : 0]->Connect(at, std::move(ear));
    if (!link.ok()) return;
    links_.push_back(*std::move(link));
    if (links_.size() > kMostLinks) Leave();
    After(kLinkLasts, [this] { Leave(); });
  }

 private:
  void Leave() {
    if (links_.empty()) return;
    links_.front()->Close();
    links_.pop_front();
  }

  std::vector<std::unique_ptr<transport::Transport>> transports_;
  std::deque<std::shared_ptr<Link>> links_;
};

Strangers::Strangers(Cluster* cluster, uint64_t seed)
    : cluster_(cluster), world_(cluster->world()), random_(seed) {}

Strangers::~Strangers() { cluster_->network().SetTap(nullptr); }

void Strangers::Start() {
  stopped_ = false;
  // The first letter tells the kind of its certificate: Cluster::IdentityOf.
  for (const char* name : {"nobody", "eve"}) {
    strangers_.push_back(
        std::make_unique<Stranger>(world_, &cluster_->network(), name));
  }
  cluster_->network().SetTap(
      [this](const TimedNetwork::Passing& passing) { Note(passing); });
  Act();
}

void Strangers::Stop() {
  stopped_ = true;
  cluster_->network().SetTap(nullptr);
}

void Strangers::Note(const TimedNetwork::Passing& passing) {
  if (passing.from[0] != 'n' || passing.from == "nobody") return;
  auto frame = replica::DecodeFrame(*passing.bytes);
  if (!frame.ok()) return;
  Keep(*passing.bytes, frame->message.has_hello() ? &hellos_ : &messages_);
}

void Strangers::Act() {
  world_->After(random_.Between(absl::ZeroDuration(), kMostSilence), [this] {
    if (stopped_) return;
    const auto& nodes = cluster_->nodes();
    const SimNode& node = *nodes[random_.Pick(nodes.size())];
    std::vector<std::string> words;
    if (!random_.OneIn(5)) words.push_back(Hello());
    for (uint64_t left = random_.Pick(5); left > 0; --left) {
      words.push_back(Message());
    }
    std::erase(words, "");
    Stranger* const who = strangers_[random_.Pick(strangers_.size())].get();
    const bool verbs = cluster_->options().verbs && random_.OneIn(3);
    world_->tally().Count(Kind::kStranger);
    who->Knock(node.name(), verbs,
               std::make_shared<Ear>(this, who->name(), std::move(words)));
    Act();
  });
}

std::string Strangers::Hello() {
  if (hellos_.empty()) return "";
  std::string said = hellos_[random_.Pick(hellos_.size())];
  auto frame = replica::DecodeFrame(said);
  if (random_.OneIn(2)) {
    frame->message.set_view_id(cluster_->StoredView().id);
  }
  auto* hello = frame->message.mutable_hello();
  if (random_.OneIn(4)) {
    hello->set_purpose(
        static_cast<kamino::internal::v1::LinkPurpose>(random_.Pick(4)));
  }
  const bool joins =
      hello->purpose() == kamino::internal::v1::LINK_PURPOSE_TRANSFER;
  if (!cluster_->options().certificates) {
    // An earlier life of the member, or none.
    hello->set_incarnation(
        random_.OneIn(2) ? 0 : hello->incarnation() - 1 - random_.Pick(3));
    if (joins) hello->set_incarnation(0);
  }
  said = Encode(frame->message);
  // The flipped bits may be the ones that make the message false.
  if (cluster_->options().certificates && random_.OneIn(3)) Mutate(&said);
  return said;
}

std::string Strangers::Message() {
  if (messages_.empty()) return "";
  std::string said = messages_[random_.Pick(messages_.size())];
  auto frame = replica::DecodeFrame(said);
  if (random_.OneIn(2)) {
    const std::string payload(frame->payload);
    frame->message.set_view_id(cluster_->StoredView().id);
    said = replica::EncodeFrameHead(frame->message) + payload;
  }
  if (random_.OneIn(2)) Mutate(&said);
  return said;
}

void Strangers::Mutate(std::string* frame) {
  if (frame->empty()) return;
  if (random_.OneIn(4)) {
    frame->resize(random_.Pick(frame->size() + 1));
    return;
  }
  for (uint64_t bits = 1 + random_.Pick(16); bits > 0; --bits) {
    const uint64_t flipped = random_.Pick(frame->size() * 8);
    (*frame)[flipped / 8] ^= static_cast<char>(1 << flipped % 8);
  }
}

void Strangers::Hear(const std::string& who, const std::string& frame) {
  const auto heard = replica::DecodeFrame(frame);
  if (heard.ok() && heard->message.has_reject()) return;
  world_->Fail(absl::InternalError(
      absl::StrCat(who, ", a stranger, was given ",
                   heard.ok() ? heard->message.ShortDebugString().substr(0, 200)
                              : "what is no message")));
}

}  // namespace kamino::simulation
