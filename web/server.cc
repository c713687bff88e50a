#include "web/server.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/address.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "openssl/tls1.h"
#include "security/access_table.h"
#include "security/tls_context.h"
#include "web/connections.h"
#include "web/timed_stream.h"

namespace kamino::web {
namespace {

// Connections that are established but not accepted; httplib has 5.
constexpr int kBacklog = 64;
constexpr char kText[] = "text/plain; charset=utf-8";

void Fill(httplib::Response* response, const Answer& answer) {
  response->status = answer.status;
  response->set_content(answer.body, answer.type);
  // Answers are text of the present moment.
  response->set_header("Cache-Control", "no-store");
  response->set_header("X-Content-Type-Options", "nosniff");
}

bool SetNonBlocking(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0;
}

}  // namespace

// httplib reads requests and writes answers; this class limits the time and the
// size of connections, which httplib does not.
class Server::Listener final : public httplib::Server {
 public:
  // `tls` may be null.
  Listener(const ServerOptions& options, security::TlsContext tls,
           std::vector<Route> routes)
      : options_(options), tls_(std::move(tls)) {
    for (Route& route : routes) {
      std::string path = route.path;
      routes_[std::move(path)] = std::move(route);
    }
    new_task_queue = [this] {
      connections_ = new Connections(options_.threads, options_.max_waiting);
      runs_.Notify();
      return connections_;  // httplib deletes it
    };
    // All requests are answered here: none has a body that is read.
    set_pre_routing_handler(
        [this](const httplib::Request& request, httplib::Response& response) {
          Fill(&response, AnswerTo(request));
          return HandlerResponse::Handled;
        });
    set_socket_options([](socket_t descriptor) {
      // Not SO_REUSEPORT, which httplib sets: only one process may have the
      // port.
      const int yes = 1;
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
  }

  int Bind(const std::string& host, int port) {
    const bool bound = port == 0 ? (port = bind_to_any_port(host)) > 0
                                 : bind_to_port(host, port);
    if (!bound) return -1;
    ::listen(svr_sock_, kBacklog);
    return port;
  }

  // httplib cannot be stopped before it runs.
  void AwaitRunning() { runs_.WaitForNotification(); }
  // Call once, while it runs.
  void Stop() {
    connections_->CutOff();
    stop();
  }

 private:
  Answer AnswerTo(const httplib::Request& request) const {
    if (request.method != "GET" && request.method != "HEAD") {
      return {405, kText, "only GET and HEAD\n"};
    }
    const auto found = routes_.find(request.path);
    if (found == routes_.end()) {
      return {404, kText, "there is no such page\n"};
    }
    const absl::Status may = CheckMay(found->second, request.remote_addr);
    if (!may.ok()) {
      return {absl::IsUnauthenticated(may) ? 401 : 403, kText,
              absl::StrCat(may.message(), "\n")};
    }
    return found->second.answer();
  }

  // `who`: as in TimedStream.
  absl::Status CheckMay(const Route& route, const std::string& who) const {
    if (options_.access == nullptr || route.for_everybody) {
      return absl::OkStatus();
    }
    const security::GrantPtr grant =
        who.empty() ? nullptr : options_.access->GrantOf(who);
    return options_.access->Check(grant.get(), security::RuleOfPage(route.path),
                                  route.path);
  }

  bool process_and_close_socket(socket_t descriptor) override {
    bool done = false;
    {
      const Connections::Served served(connections_, descriptor);
      if (SetNonBlocking(descriptor)) done = Serve(descriptor);
    }
    ::shutdown(descriptor, SHUT_RDWR);
    ::close(descriptor);
    return done;
  }

  bool Serve(int descriptor) {
    TimedStream stream(descriptor, MonotonicNow() + options_.max_time,
                       options_.max_request_bytes);
    if (tls_ != nullptr && !stream.BeginTls(tls_.get())) return false;
    bool closed = false;
    const bool done = process_request(
        stream, /*close_connection=*/true, closed,
        // Ranges are ignored: a client could request many parts of one answer.
        [](httplib::Request& request) { request.ranges.clear(); });
    stream.EndTls();
    return done;
  }

  const ServerOptions options_;
  const security::TlsContext tls_;
  std::map<std::string, Route> routes_;
  Connections* connections_ = nullptr;  // while it runs
  absl::Notification runs_;
};

Server::Server() = default;

absl::StatusOr<std::unique_ptr<Server>> Server::Start(
    const ServerOptions& options, std::vector<Route> routes) {
  ASSIGN_OR_RETURN(const HostPort listen, ParseAddress(options.listen));
  security::TlsContext tls;
  if (options.certificates != nullptr) {
    // Scrapers and browsers may lack newer versions; probes have no
    // certificate.
    ASSIGN_OR_RETURN(
        tls, security::NewServerContext(
                 *options.certificates,
                 {.min_version = TLS1_2_VERSION, .peer_must_be_known = false}));
  }
  auto server = absl::WrapUnique(new Server);
  server->listener_ =
      std::make_unique<Listener>(options, std::move(tls), std::move(routes));
  server->port_ = server->listener_->Bind(listen.host, listen.port);
  if (server->port_ <= 0) {
    const int error = errno;
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", options.listen,
                     " for HTTP: ", std::strerror(error)));
  }
  server->accepts_ = std::thread([listener = server->listener_.get()] {
    pthread_setname_np(pthread_self(), "web-accept");
    listener->listen_after_bind();
  });
  server->listener_->AwaitRunning();
  return server;
}

Server::~Server() {
  if (!accepts_.joinable()) return;
  listener_->Stop();
  accepts_.join();
}

}  // namespace kamino::web
