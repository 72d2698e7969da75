// An OpenID provider on loopback: `node provider.mjs PORT CONFIGURATION`. What it reads on standard input, a JSON object
// a line, changes it while it runs: {"roles": {"name": [...]}} whom it gives which roles, {"keys": "new"} what it signs with.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";

const [port, file] = process.argv.slice(2);
const { clients, audience, roles } = JSON.parse(readFileSync(file, "utf8"));
const stored = new Map();

class Adapter { // in memory, for all of its life, with whatever keys
  constructor(name) { this.name = name; }
  key(id) { return `${this.name}:${id}`; }
  values() { return [...stored].filter(([key]) => key.startsWith(`${this.name}:`)).map(([, value]) => value); }
  async upsert(id, payload) { stored.set(this.key(id), { ...payload }); }
  async find(id) { return stored.get(this.key(id)); }
  async findByUid(uid) { return this.values().find((one) => one.uid === uid); }
  async findByUserCode(code) { return this.values().find((one) => one.userCode === code); }
  async consume(id) { stored.get(this.key(id)).consumed = Math.floor(Date.now() / 1000); }
  async destroy(id) { stored.delete(this.key(id)); }
  async revokeByGrantId(grant) { for (const [key, one] of stored) if (one.grantId === grant) stored.delete(key); }
}

const keys = [];
async function newKey() {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  keys.unshift({ ...(await exportJWK(privateKey)), kid: `key-${keys.length + 1}`, alg: "ES256", use: "sig" });
}

function made() {
  return new Provider(`http://127.0.0.1:${port}`, {
    adapter: Adapter,
    clients,
    jwks: { keys: keys.slice(0, 1) },
    claims: { openid: ["sub", "roles"] },
    conformIdTokenClaims: false,
    cookies: { keys: ["of-a-check"] },
    enabledJWA: { idTokenSigningAlgValues: ["ES256"] },
    extraTokenClaims: (ctx, token) => ({ roles: roles[token.accountId] ?? [] }),
    findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id, roles: roles[id] ?? [] }) }),
    clientDefaults: { id_token_signed_response_alg: "ES256" },
    features: {
      devInteractions: { enabled: true },
      deviceFlow: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: "", audience, accessTokenFormat: "jwt", accessTokenTTL: 65, jwt: { sign: { alg: "ES256" } },
        }),
        useGrantedResource: () => true,
      },
      rpInitiatedLogout: { enabled: true },
    },
    rotateRefreshToken: true,
  });
}

await newKey();
let answer = made().callback();
createServer((request, response) => answer(request, response)).listen(port, "127.0.0.1", () => console.log("listening"));
for await (const line of createInterface({ input: process.stdin })) {
  const change = JSON.parse(line);
  Object.assign(roles, change.roles);
  if (change.keys) await newKey();
  answer = made().callback();
  console.log("changed");
}
process.exit(0);
