import { nodeRandom } from '../../adapters/node/random.ts';
import { vetWebhookUrl } from '../../adapters/webhook-http/url.ts';
import {
  CommandRefused,
  named,
  type AdminArguments,
  type AdminCommands,
  type AdminStream,
  type AdminStreams,
} from '../../operator/server/commands.ts';
import type { Config } from '../../config.ts';
import type { Logger } from '../../observability/logger.ts';
import { systemClock } from '../../ports/clock.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { createPersonalSealer, createSealer, type SealingKeys } from '../../runtime/cryptography/sealing.ts';
import { peopleCommands } from '../../operator/people/people.ts';
import { withKeptKeys } from '../../features/shared/kept-keys.ts';
import { sealingKeyCommands } from '../../operator/sealing-keys.ts';
import { adminCommands } from '../../operator/merchants/merchants.ts';
import { checkOwnLog } from '../audit/audit.ts';
import { readingStorage } from '../storage/reading-service.ts';
import { startCore, type Core, type CorePorts } from '../core.ts';
import { openLedger } from '../money/ledger.ts';
import { namesKeys } from '../../settings/sealing-keys.ts';
import { ownKeys } from './own-keys.ts';
import { openStorage } from '../storage/storage.ts';
import type { Storage } from '../storage/parts.ts';
import { compareCommands } from '../../look-ups/compare.ts';

/** Runs one operator command directly on the data directory, while no service owns it. */
export async function runOffline(
  config: Config,
  log: Logger,
  command: string,
  args: AdminArguments,
): Promise<JsonValue> {
  const offline = await openOffline(config, log);
  try {
    const run = named(offline.commands, command);
    if (!run) throw new CommandRefused('this command needs the running service: start it first');
    return await run(args);
  } finally {
    await offline.close();
  }
}

/** The same for a response too long for memory; releases the data directory when the text ends. */
export async function streamOffline(
  config: Config,
  log: Logger,
  command: string,
  args: AdminArguments,
): Promise<AdminStream> {
  const offline = await openOffline(config, log);
  try {
    const run = named(offline.streams, command);
    if (!run) throw new CommandRefused('this command needs the running service: start it first');
    const stream = await run(args);
    return { ...stream, chunks: closingAfter(stream.chunks, offline.close) };
  } catch (error) {
    await offline.close();
    throw error;
  }
}

async function* closingAfter(
  chunks: AdminStream['chunks'],
  close: () => Promise<void>,
): AsyncGenerator<string | Uint8Array> {
  try {
    yield* chunks;
  } finally {
    await close();
  }
}

interface Offline {
  readonly commands: AdminCommands;
  readonly streams: AdminStreams;
  readonly close: () => Promise<void>;
}

async function openOffline(config: Config, log: Logger): Promise<Offline> {
  const { sealingKeys: given, namespace } = ownKeys(config);
  const clock = systemClock;
  const random = nodeRandom;
  const fatal = (error: Error): never => {
    throw error;
  };
  const roles = { api: true, worker: true, signer: false };
  const opened = await openStorage(config, {
    ...{ clock, random, log, sealingKeys: given, roles, namespace },
    ...{ onFatal: fatal, readDamaged: true },
  });
  const { storage, damage, commands: auditCommands } = await checkedStorage(config, opened, log);
  const runner = storage.projections;
  const close = async (): Promise<void> => {
    await runner.stop();
    await storage.close();
  };
  try {
    await runner.start(storage.store);
    await runner.ready();
    const sealingKeys = await withKeptKeys(storage.store, given);
    const core = await startOfflineCore(config, { ...storage, sealingKeys, readOnly: damage !== null }, log);
    const ledger = openLedger({
      core,
      store: storage.store,
      readModel: storage.readModel,
      projections: runner,
      clock,
      random,
    });
    return {
      commands: adminCommands({
        core,
        store: storage.store,
        clock,
        random,
        testWallet: null,
        projections: runner,
        more: {
          ...ledger.commands,
          ...auditCommands,
          ...sealingKeyCommands({ store: storage.store, sealingKeys, clock, random }),
          ...compareCommands(storage.comparison),
          ...peopleCommands({
            people: core.people,
            consoleUrl: () => config.CONSOLE_URL?.replace(/\/$/, '') ?? null,
            isMerchant: (id) => core.directory.settings(id) !== null,
          }),
        },
      }),
      streams: ledger.streams,
      close: async () => {
        await core.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The core for commands: without rates, chains and addresses. */
export function startOfflineCore(
  config: Config,
  given: Pick<
    CorePorts,
    'store' | 'readModel' | 'personalKeys' | 'addressFilter' | 'projections' | 'soleWriter' | 'readOnly'
  > & {
    readonly sealingKeys: SealingKeys;
  },
  log: Logger,
): Promise<Core> {
  const allowInsecure = config.WEBHOOK_ALLOW_INSECURE ?? !namesKeys(config);
  return startCore(
    config,
    {
      ...given,
      rates: {
        lock: () => Promise.resolve(null),
        mayQuote: () => false,
        valuation: () => null,
        close: () => Promise.resolve(),
      },
      senders: { of: () => Promise.resolve(null) },
      addresses: { take: () => null, giveBack: () => undefined },
      clock: systemClock,
      random: nodeRandom,
      sealer: createSealer(given.sealingKeys),
      personalSealer: createPersonalSealer(given.sealingKeys),
      vetWebhookUrl: (url) => vetWebhookUrl(url, { allowInsecure, ownHosts: [] }),
      networks: () => [],
    },
    log,
  );
}

interface CheckedStorage {
  readonly storage: Storage;
  /** Why nothing can be written; null while healthy. */
  readonly damage: string | null;
  readonly commands: AdminCommands;
}

/**
 * Verifies the log first, as at a start, so that nothing is written to a damaged one. Servers have no log to verify
 * here.
 */
async function checkedStorage(config: Config, opened: Storage, log: Logger): Promise<CheckedStorage> {
  const { ownLog } = opened;
  if (!ownLog) return { storage: opened, damage: null, commands: {} };
  const checked = await checkOwnLog(config, ownLog, opened.readModel);
  const damage = ownLog.refusal;
  if (damage !== null) log.error({ reason: damage }, 'the event log has changed: nothing is written');
  return {
    storage: damage === null ? opened : await readingStorage(opened, damage, log),
    damage,
    commands: { 'audit.status': async () => ({ ...checked, read_only: damage !== null, reason: damage }) },
  };
}
