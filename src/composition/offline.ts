import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { nodeRandom } from '../adapters/node/random.ts';
import { vetWebhookUrl } from '../adapters/webhook-http/webhook-url.ts';
import { CommandRefused, type AdminArguments } from '../cli/admin-commands.ts';
import { InvalidConfig, type Config } from '../config.ts';
import type { Logger } from '../ops/logger.ts';
import { systemClock } from '../ports/clock.ts';
import type { JsonValue } from '../ports/read-model.ts';
import { createPersonalSealer, createSealer, parseMasterKeys } from '../runtime/sealing.ts';
import { adminCommands } from './admin.ts';
import { startCore } from './core.ts';
import { sandboxMasterKey, sandboxNamespace } from './secrets-files.ts';
import { openStorage } from './storage.ts';

/** Runs one operator's command on the data directory itself, while no service owns it. */
export async function runOffline(config: Config, log: Logger, command: string, args: AdminArguments): Promise<JsonValue> {
  const masterKey = masterKeyText(config);
  const masterKeys = parseMasterKeys(masterKey);
  const clock = systemClock;
  const random = nodeRandom;
  const fatal = (error: Error): never => {
    throw error;
  };
  const namespace = config.MASTER_KEY === undefined ? sandboxNamespace(masterKey) : '';
  const roles = { api: true, worker: true, signer: false };
  const storage = await openStorage(config, { clock, random, log, roles, namespace, onFatal: fatal });
  const runner = storage.projections;
  await runner.start(storage.store);
  await runner.ready();
  try {
    const insecure = config.WEBHOOK_ALLOW_INSECURE ?? config.MASTER_KEY === undefined;
    const core = await startCore(
      config,
      {
        store: storage.store,
        readModel: storage.readModel,
        personalKeys: storage.personalKeys,
        rates: { lock: () => Promise.resolve(null), valuation: () => null, close: () => Promise.resolve() },
        senders: { of: () => Promise.resolve(null) },
        addresses: { take: () => null, giveBack: () => undefined },
        clock,
        random,
        sealer: createSealer(masterKeys),
        personalSealer: createPersonalSealer(masterKeys),
        vetWebhookUrl: (url) => vetWebhookUrl(url, { allowInsecure: insecure, ownHosts: [] }),
        networks: () => [],
        soleWriter: storage.soleWriter,
      },
      log,
    );
    const run = adminCommands({ core, store: storage.store, testWallet: null, projections: runner })[command];
    if (!run) throw new CommandRefused('this command needs the running service: start it first');
    const answer = await run(args);
    await core.close();
    return answer;
  } finally {
    await runner.stop();
    await storage.close();
  }
}

/** A sandbox keeps its own key; production gives one. */
function masterKeyText(config: Config): string {
  if (config.MASTER_KEY !== undefined) return config.MASTER_KEY;
  if (existsSync(join(config.DATA_DIR, 'master.key'))) return sandboxMasterKey(config.DATA_DIR);
  throw new InvalidConfig(`no service runs on ${config.DATA_DIR}; to work on the data directory itself set MASTER_KEY, or start the service first`);
}
