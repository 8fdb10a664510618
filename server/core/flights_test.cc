#include "server/core/flights.h"

#include <gtest/gtest.h>

namespace pyasc::server {
namespace {

TEST(Flights, AllWaitersGetTheSameFailureAndTheEntryIsGone) {
  Flights flights;
  std::vector<std::pair<std::string, bool>> seen;
  auto waiter = [&](const FlightResult &result, bool led) {
    seen.emplace_back(std::string(result.compiled.status().message()), led);
  };
  EXPECT_TRUE(flights.Join("k", waiter).led);
  EXPECT_FALSE(flights.Join("k", waiter).led);
  EXPECT_TRUE(flights.Join("other", waiter).led);
  flights.Finish("k", {absl::InternalError("no")});
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, bool>>{{"no", true}, {"no", false}}));
  EXPECT_EQ(flights.size(), 1u);
  EXPECT_TRUE(flights.Join("k", waiter).led) << "the flight after a failed one starts anew";
}

TEST(Flights, TheLeadersLeavingDisturbsNobody) {
  Flights flights;
  int called = 0;
  auto first = flights.Join("k", [&](const FlightResult &, bool) { called += 100; });
  flights.Join("k", [&](const FlightResult &, bool) { ++called; });
  flights.Leave("k", first.waiter);
  flights.Leave("k", first.waiter);
  EXPECT_FALSE(flights.AbandonIfUnwanted("k"));
  flights.Finish("k", {});
  EXPECT_EQ(called, 1);
}

TEST(Flights, AFlightThatNobodyWantsCanBeAbandonedBeforeItBegins) {
  Flights flights;
  auto only = flights.Join("k", [](const FlightResult &, bool) { FAIL(); });
  EXPECT_FALSE(flights.AbandonIfUnwanted("k"));
  flights.Leave("k", only.waiter);
  EXPECT_TRUE(flights.AbandonIfUnwanted("k"));
  EXPECT_FALSE(flights.AbandonIfUnwanted("k"));
  EXPECT_EQ(flights.size(), 0u);
}

TEST(Flights, AWaiterMayStartTheNextFlightOfItsKey) {
  Flights flights;
  bool led = false;
  flights.Join("k", [&](const FlightResult &, bool) {
    led = flights.Join("k", [](const FlightResult &, bool) {}).led;
  });
  flights.Finish("k", {});
  EXPECT_TRUE(led);
}

} // namespace
} // namespace pyasc::server
