/** The adapter for node-redis, beyond the tests of all clients. */
import assert from "node:assert/strict";
import { createClient, createCluster } from "redis";
import { nodeRedis } from "../../../lib/redis/mod.ts";
import { test } from "../../_test.ts";

test("nodeRedis: the same client gives the same backend; a cluster is recognized", () => {
  const client = createClient();
  assert.equal(nodeRedis(client), nodeRedis(client));
  assert.equal(nodeRedis(client).closed, true); // it was never connected
  assert.equal(nodeRedis(client).cluster, false);
  assert.equal(nodeRedis(createCluster({ rootNodes: [] })).cluster, true);
});
