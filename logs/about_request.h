// Attributes log lines to a request.
#ifndef KAMINO_LOGS_ABOUT_REQUEST_H_
#define KAMINO_LOGS_ABOUT_REQUEST_H_

#include "absl/strings/string_view.h"

namespace kamino::logs {

// Lines that this thread logs during the scope are about that request:
//
//   AboutRequest about("12/7", traceparent);
//   LOG(WARNING) << "it took long";
//
// The texts must outlive the scope.
class AboutRequest {
 public:
  AboutRequest(absl::string_view request, absl::string_view traceparent)
      : request_(request), traceparent_(traceparent), outer_(current_) {
    current_ = this;
  }
  ~AboutRequest() { current_ = outer_; }
  AboutRequest(const AboutRequest&) = delete;
  AboutRequest& operator=(const AboutRequest&) = delete;

  // The innermost scope of this thread; null: none.
  static const AboutRequest* current() { return current_; }

  absl::string_view request() const { return request_; }
  absl::string_view traceparent() const { return traceparent_; }

 private:
  static inline thread_local const AboutRequest* current_ = nullptr;

  const absl::string_view request_;
  const absl::string_view traceparent_;
  const AboutRequest* const outer_;
};

}  // namespace kamino::logs

#endif  // KAMINO_LOGS_ABOUT_REQUEST_H_
