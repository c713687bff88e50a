#include "node/session/session_connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "glog/logging.h"
#include "node/request_checks.h"
#include "node/rpc/status_details.h"
#include "node/session/session_requests.h"
#include "replica/errors.h"

namespace kamino::node {

using kamino::v1::SessionName;
using kamino::v1::SessionWelcome;
using replica::MakeError;
using session::FrameKind;
using session::Method;

namespace {

constexpr absl::Duration kDefaultTimeout = absl::Seconds(10);

absl::Status Malformed(absl::string_view what) {
  return MakeError(kamino::v1::REASON_INVALID_ARGUMENT, what);
}

absl::Status Overloaded(absl::string_view what) {
  return MakeError(kamino::v1::REASON_OVERLOADED, what);
}

}  // namespace

SessionConnection::SessionConnection(const ConnectionContext& context,
                                     std::unique_ptr<SessionCarrier> carrier,
                                     Finder find, absl::Time now)
    : limits_(*context.limits),
      node_(context.node),
      carrier_(std::move(carrier)),
      find_(std::move(find)),
      held_(context.limits, carrier_.get(), context.all_held, now),
      access_(context.access, carrier_.get()),
      pending_(context.limits),
      answers_(node_, carrier_.get(), &held_, &access_),
      quiet_since_(now) {}

// --- Received frames.

void SessionConnection::OnFrame(absl::string_view bytes, absl::Time now) {
  if (ended()) return;
  held_.NoteReceived(bytes.size(), now);
  auto frame = session::ParseFrame(bytes);
  if (!frame.ok()) return Goodbye(Malformed(frame.status().message()));
  if (absl::Status may = access_.CheckFrame(frame->kind); !may.ok()) {
    return Goodbye(may);
  }
  if (state_ == State::kGreeting && frame->kind == FrameKind::kHello) {
    return OnHello(frame->parts, now);
  }
  if (frame->kind == FrameKind::kGoodbye) return End();
  if (state_ != State::kOpen || frame->kind != FrameKind::kRequests) {
    return Goodbye(Malformed(
        "a client sends a hello first, and requests only after its answer"));
  }
  if (session_.id != 0) {
    node_->chain_node().head().HearSession(session_.id, now);
  }
  lookups_left_ = limits_.max_lookups;
  absl::Status ok;
  absl::Status whole =
      session::VisitRequests(*frame, [&](const session::Request& request) {
        ok = OnRequest(request, now);
        return ok.ok() && !ended();
      });
  if (!whole.ok()) ok = Malformed(whole.message());
  if (!ok.ok() && !ended()) Goodbye(ok);
}

void SessionConnection::OnHello(absl::string_view body, absl::Time now) {
  kamino::v1::SessionHello hello;
  if (!hello.ParseFromArray(body.data(), static_cast<int>(body.size()))) {
    return Goodbye(Malformed("the hello is not a SessionHello"));
  }
  if (hello.min_version() > session::kVersion ||
      hello.max_version() < session::kVersion) {
    return Goodbye(Malformed(absl::StrCat(
        "the client speaks versions ", hello.min_version(), " to ",
        hello.max_version(), " of the session format; this node speaks ",
        session::kVersion)));
  }
  absl::Status asked = node_->cluster().CheckServed(hello.cluster_uuid());
  if (asked.ok()) asked = CheckAsked(hello.chain_id(), node_->chain_id());
  if (!asked.ok()) return Goodbye(asked);
  if (!hello.has_session()) return Welcome(nullptr);
  if (absl::Status may = access_.CheckMayHaveSession(); !may.ok())
    return Goodbye(may);
  const SessionName& asked_for = hello.session();
  if (asked_for.epoch() == 0) return OpenSession(asked_for, now);
  state_ = State::kOpening;
  node_->chain_node().head().AskForSession(
      asked_for.id(), asked_for.epoch(), now,
      [find = find_](absl::StatusOr<head::SessionInfo> session) {
        SessionConnection* const self = find();
        if (self != nullptr) self->OnOpened(std::move(session));
      },
      access_.peer());
}

void SessionConnection::OpenSession(const SessionName& asked_for,
                                    absl::Time now) {
  state_ = State::kOpening;
  head::SessionParams params;
  params.id = asked_for.id();
  params.window = asked_for.window();
  params.lease = absl::Milliseconds(asked_for.lease_ms());
  params.deadline = now + kDefaultTimeout;
  params.by = access_.peer();
  // If the client gives up and asks for another session, the head does not open
  // the first one, which would hold up others.
  params.abandoned = [find = find_] {
    return find() == nullptr || find()->ended();
  };
  node_->chain_node().head().OpenSession(
      params, now, [find = find_](absl::StatusOr<head::SessionInfo> session) {
        SessionConnection* const self = find();
        if (self != nullptr) self->OnOpened(std::move(session));
      });
}

void SessionConnection::OnOpened(absl::StatusOr<head::SessionInfo> opened) {
  if (ended()) return;
  if (!opened.ok()) {
    access_.NoteDenied(opened.status());
    return Goodbye(opened.status());
  }
  session_.id = opened->id;
  session_.epoch = opened->epoch;
  SessionName session;
  session.set_id(opened->id);
  session.set_epoch(opened->epoch);
  session.set_window(opened->window);
  session.set_lease_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(opened->lease)));
  Welcome(&session);
}

void SessionConnection::Welcome(const SessionName* session) {
  SessionWelcome welcome;
  welcome.set_version(session::kVersion);
  welcome.set_node_id(node_->node_id());
  welcome.set_view_id(node_->view_board().current()->view_id());
  welcome.set_chain_id(node_->chain_id());
  welcome.set_max_requests(static_cast<uint32_t>(limits_.max_requests));
  welcome.set_max_frame_bytes(static_cast<uint32_t>(session::kMaxFrameBytes));
  welcome.set_takes_traces(true);
  welcome.set_cluster_uuid(node_->cluster().uuid());
  if (session != nullptr) *welcome.mutable_session() = *session;
  state_ = State::kOpen;
  answers_.Send(
      session::MakeFrame(FrameKind::kWelcome, welcome.SerializeAsString()));
}

// --- Requests.

absl::Status SessionConnection::OnRequest(const session::Request& request,
                                          absl::Time now) {
  if (request.method == Method::kCancel) {
    pending_.Cancel(request.tag);
    return absl::OkStatus();
  }
  if (request.method == Method::kTrace) {
    pending_.KeepTrace(request);
    return absl::OkStatus();
  }
  if (pending_.Find(request.tag) != nullptr) {
    return Malformed(
        absl::StrCat("tag ", request.tag, " is that of a request under way"));
  }
  const uint16_t method = static_cast<uint16_t>(request.method);
  if (method == 0 || method > session::kLastMethod) {
    Answer(request.tag, Malformed(absl::StrCat("there is no method ", method)),
           0, "");
    return absl::OkStatus();
  }
  if (absl::Status may = access_.CheckMethod(request.method); !may.ok()) {
    Answer(request.tag, may, 0, "");
    return absl::OkStatus();
  }
  if (absl::Status room = CheckRoom(request); !room.ok()) {
    Answer(request.tag, room, 0, "");
    return absl::OkStatus();
  }
  pending_.Add(request, now);
  Begin(request, now);
  return absl::OkStatus();
}

absl::Status SessionConnection::CheckRoom(const session::Request& request) {
  if (!pending_.HasRoom(request.body.size())) {
    return Overloaded("too many requests of this connection are under way");
  }
  return answers_.CheckRoom();
}

void SessionConnection::NoteDenied(const absl::Status& status, uint32_t tag) {
  if (!absl::IsPermissionDenied(status)) return;
  access_.NoteDenied(status, pending_.Find(tag),
                     pending_.NameOf(tag, session_.id));
}

void SessionConnection::Begin(const session::Request& request, absl::Time now) {
  switch (request.method) {
    case Method::kGet:
    case Method::kBatchGet:
      return Read(request);
    case Method::kKeepAlive:
      return KeepAlive(request.tag, now);
    case Method::kClose:
      return CloseSession(request.tag);
    default:
      return Mutate(request, now);
  }
}

void SessionConnection::Read(const session::Request& request) {
  // A key takes at least three bytes of a request.
  const size_t lookups = request.body.size() / 3 + 1;
  if (request.method == Method::kBatchGet) {
    if (lookups > lookups_left_) {
      return Answer(request.tag, Overloaded("too many keys in one frame"), 0,
                    "");
    }
    lookups_left_ -= lookups;
  }
  ReadAnswer answer;
  ChainNode& node = node_->chain_node();
  const absl::Status read =
      ReadFor(request, ScopeOf(access_.peer()), node, &answer);
  NoteDenied(read, request.tag);
  const uint64_t sequence = node.core().progress().settled();
  if (!read.ok()) return Answer(request.tag, read, sequence, "");
  const size_t bytes = answer.message->ByteSizeLong();
  pending_.Find(request.tag)->keys =
      request.method == Method::kGet ? 1 : answer.many.results_size();
  char* const body = BeginAnswer(request.tag, read, sequence, bytes);
  if (body == nullptr) return;
  answer.message->SerializeWithCachedSizesToArray(
      reinterpret_cast<uint8_t*>(body));
  EndAnswer();
}

void SessionConnection::Mutate(const session::Request& request,
                               absl::Time now) {
  if (session_.id == 0) {
    return Answer(request.tag,
                  Malformed("this connection has no session, so it may read "
                            "only; a hello may name one"),
                  0, "");
  }
  PendingRequest& pending = *pending_.Find(request.tag);
  auto mutation = ToMutation(request, &pending.keys);
  if (!mutation.ok()) return Answer(request.tag, mutation.status(), 0, "");
  head::Request asked;
  asked.mutation = std::move(*mutation);
  asked.mutation.client_id = session_.id;
  asked.by = access_.peer();
  asked.deadline =
      now + (request.timeout_ms == 0 ? kDefaultTimeout
                                     : absl::Milliseconds(request.timeout_ms));
  const uint32_t tag = request.tag;
  asked.abandoned = [cancelled = pending.cancelled] { return *cancelled; };
  if (request.method == Method::kCommit || request.method == Method::kCall) {
    asked.room_for_answer = [find = find_] {
      SessionConnection* const self = find();
      return self == nullptr ? absl::OkStatus() : self->answers_.CheckRoom();
    };
  }
  asked.done = [find = find_, tag,
                method = request.method](head::RequestOutcome outcome) {
    SessionConnection* const self = find();
    if (self == nullptr) return;
    const uint64_t sequence = outcome.sequence;
    if (outcome.status.ok() && outcome.voided && method != Method::kVoid) {
      outcome.status = WasVoided();
    }
    const head::RequestTimesSource* const times = outcome.times;
    if (!outcome.status.ok()) {
      self->NoteDenied(outcome.status, tag);
      return self->Answer(tag, outcome.status, sequence, "", times);
    }
    auto body = ToResponse(method, std::move(outcome));
    self->Answer(tag, body.status(), sequence, body.ok() ? *body : "", times);
  };
  node_->Submit(std::move(asked));
}

void SessionConnection::KeepAlive(uint32_t tag, absl::Time now) {
  if (session_.id == 0) {
    return Answer(tag, absl::OkStatus(),
                  node_->chain_node().core().progress().settled(), "");
  }
  node_->chain_node().head().AskForSession(
      session_.id, session_.epoch, now,
      [find = find_, tag](const absl::StatusOr<head::SessionInfo>& session) {
        SessionConnection* const self = find();
        if (self == nullptr) return;
        // A stopping node answers waiting requests, and has no core any more.
        const uint64_t settled =
            session.ok() ? self->node_->chain_node().core().progress().settled()
                         : 0;
        self->Answer(tag, session.status(), settled, "");
      },
      access_.peer());
}

void SessionConnection::CloseSession(uint32_t tag) {
  if (session_.id == 0) {
    return Answer(tag, Malformed("this connection has no session"), 0, "");
  }
  node_->chain_node().head().CloseSession(
      session_.id, node_->Now(),
      [find = find_, tag](absl::Status status) {
        SessionConnection* const self = find();
        if (self == nullptr) return;
        if (status.ok()) self->session_.id = 0;
        self->Answer(tag, status, 0, "");
      },
      access_.peer());
}

// --- Sent frames.

void SessionConnection::Answer(uint32_t tag, const absl::Status& status,
                               uint64_t sequence, absl::string_view body,
                               const head::RequestTimesSource* times) {
  std::string error;
  if (!status.ok()) {
    error = answers_.Explain(status, pending_.NameOf(tag, session_.id));
    body = error;
  }
  char* const to = BeginAnswer(tag, status, sequence, body.size(), times);
  if (to == nullptr) return;
  std::memcpy(to, body.data(), body.size());
  EndAnswer();
}

char* SessionConnection::BeginAnswer(uint32_t tag, const absl::Status& status,
                                     uint64_t sequence, size_t body_bytes,
                                     const head::RequestTimesSource* times) {
  if (ended()) return nullptr;
  if (auto asked = pending_.Take(tag); asked.has_value()) {
    answers_.Note(*std::move(asked), status.code(), body_bytes, times);
  }
  session::Response response;
  response.tag = tag;
  response.code = static_cast<uint16_t>(status.code());
  response.sequence = sequence;
  return answers_.Add(response, body_bytes, session_.id);
}

void SessionConnection::EndAnswer() {
  answers_.FlushIfFull(session_.id);
  if (answers_.IsExceeded()) {
    Abort("it does not take answers, and sends more requests");
  }
}

void SessionConnection::Goodbye(const absl::Status& why) {
  LOG_EVERY_N(INFO, 100) << "connection of " << carrier_->peer()
                         << " ends: " << why.message();
  Flush();
  answers_.Send(session::MakeFrame(FrameKind::kGoodbye, answers_.Explain(why)));
  End();
}

void SessionConnection::End() {
  state_ = State::kEnded;
  quiet_since_ = node_->Now();
  carrier_->Close();
}

void SessionConnection::Abort(absl::string_view why) {
  LOG_EVERY_N(INFO, 100) << "connection of " << carrier_->peer()
                         << " is cut off: " << why;
  End();
  carrier_->Abort();
}

void SessionConnection::OnWritable() {
  carrier_->OnWritable();
  held_.CountUnsent();
}

void SessionConnection::OnTick(absl::Time now) {
  held_.OnTick(now);
  if (held_.FrameIsStuck(now) && !ended()) {
    return Abort("it does not complete a frame");
  }
  const bool stuck = held_.AnswersAreStuck();
  if ((state_ == State::kOpening || state_ == State::kOpen) && !stuck) {
    quiet_since_ = now;
    return;
  }
  if (now - quiet_since_ < limits_.max_silence) return;
  if (state_ == State::kGreeting) {
    return Goodbye(Malformed(absl::StrCat(
        "no hello came within ", absl::FormatDuration(limits_.max_silence))));
  }
  Abort(ended() ? "it does not end" : "it takes no answers");
}

}  // namespace kamino::node
