import { setStoreAccess } from '../../adapters/esdb/access.ts';
import { openEsdbEventStore } from '../../adapters/esdb/event-store.ts';
import { openEsdbPersonalKeys } from '../../adapters/esdb/personal-keys.ts';
import { nodeRandom } from '../../adapters/node/random.ts';
import { InvalidConfig, type Config } from '../../config.ts';
import { json, type AdminArguments } from '../../operator/server/commands.ts';
import { forgetSession } from '../../operator/merchants/forget.ts';
import { systemClock } from '../../ports/clock.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { STORE_USERS, storeAccessOf, type StoreUser } from './store-access.ts';
import { must } from '../../domain/values/must.ts';

const MIN_PASSWORD = 16;

/** `quittance store users`: needs an administrator of the servers, and no running service. Throws `InvalidConfig`. */
export async function setStoreUsers(env: Readonly<Record<string, string | undefined>>): Promise<JsonValue> {
  const administrator = env['EVENTSTORE_ADMIN_URL'];
  if (!administrator)
    throw new InvalidConfig(
      'EVENTSTORE_ADMIN_URL is missing: esdb://admin:...@host:2113?tls=true, a user of the servers that may create others',
    );
  const passwords = passwordsIn(env);
  try {
    return json(await setStoreAccess(administrator, storeAccessOf(passwords, opsPasswordIn(env))));
  } catch (error) {
    // The adapter's error for an invalid connection string.
    throw error instanceof TypeError ? new InvalidConfig(`EVENTSTORE_ADMIN_URL: ${error.message}`) : error;
  }
}

/** Nobody knows the password of `ops` unless it is named. */
function opsPasswordIn(env: Readonly<Record<string, string | undefined>>): string {
  const password = env['EVENTSTORE_OPS_PASSWORD'];
  if (!password) return Buffer.from(nodeRandom.bytes(32)).toString('hex');
  if (password.length < MIN_PASSWORD)
    throw new InvalidConfig(`EVENTSTORE_OPS_PASSWORD must have at least ${MIN_PASSWORD} characters`);
  return password;
}

/** A role without a password gets no user. */
function passwordsIn(env: Readonly<Record<string, string | undefined>>): ReadonlyMap<StoreUser, string> {
  const passwords = new Map<StoreUser, string>();
  for (const user of STORE_USERS) {
    const name = `EVENTSTORE_${user.toUpperCase()}_PASSWORD`;
    const password = env[name];
    if (!password) continue;
    if (password.length < MIN_PASSWORD)
      throw new InvalidConfig(`${name} must have at least ${MIN_PASSWORD} characters: try openssl rand -hex 32`);
    if ([...passwords.values()].includes(password))
      throw new InvalidConfig(`${name} is also the password of another user: each needs its own`);
    passwords.set(user, password);
  }
  const all = STORE_USERS.map((user) => `EVENTSTORE_${user.toUpperCase()}_PASSWORD`).join(', ');
  if (passwords.size === 0)
    throw new InvalidConfig(`no user is named: set a password for each user to create, out of ${all}`);
  return passwords;
}

/** `quittance forget` with the user that may erase, separate from the nodes. Throws `InvalidConfig`. */
export async function forgetOnServers(
  { EVENTSTORE_URL: url, EVENTSTORE_ERASER_URL: eraser }: Config,
  args: AdminArguments,
): Promise<JsonValue> {
  if (url === undefined)
    throw new InvalidConfig('EVENTSTORE_URL is missing: the user that reads the session and records who erased it');
  const store = await openEsdbEventStore({ connectionString: url });
  const keys = openEsdbPersonalKeys({
    connectionString: url,
    eraserConnectionString: must(eraser),
    random: nodeRandom,
  });
  try {
    return await forgetSession({ store, clock: systemClock, random: nodeRandom, erase: (id) => keys.erase(id) }, args);
  } finally {
    await Promise.all([store.close(), keys.close()]);
  }
}
