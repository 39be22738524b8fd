import type { Config } from '../config.ts';
import type { Mode } from '../domain/ids.ts';
import type { Network } from '../domain/networks.ts';
import { sessionStream } from '../domain/streams.ts';
import type { Logger } from '../ops/logger.ts';
import { toSec, type Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import { ExpireSessions } from '../processes/expire-sessions.process.ts';
import type { RunningAudit } from './audit.ts';
import { watch, type WatchDeps, type WatchedNetwork } from './chains.ts';
import type { Core } from './core.ts';
import { startPayouts } from './payouts.ts';
import type { TestWallet } from './sandbox-desk.ts';
import type { Foundation } from './service-foundation.ts';
import type { ServiceParts } from './service-parts.ts';
import { watchSolana } from './solana.ts';
import { startWebhooks, type RunningWebhooks } from './webhooks.ts';

/** What happens by itself: money is seen, sessions end, refunds are paid, merchants are told. */
export interface MovingMoney {
  readonly testWallet: TestWallet | null;
  readonly watched: readonly WatchedNetwork[];
  readonly payouts: Awaited<ReturnType<typeof startPayouts>> | null;
  readonly webhooks: RunningWebhooks;
  close(): Promise<void>;
}

export async function startMoney(parts: ServiceParts, foundation: Foundation, audit: Pick<RunningAudit, 'mayPay'>): Promise<MovingMoney> {
  const { config, storage, clock, random, log } = parts;
  const { core, store, rates, metrics, tracing, caughtUp } = foundation;
  const { readModel, answers } = storage;
  const testWallet = parts.testWallet?.(core) ?? null;
  const watched = await watchAll(parts, foundation, testWallet !== null);
  await Promise.all(watched.map(({ watcher }) => watcher.start()));
  const payouts = parts.payouts
    ? await startPayouts(parts.payouts, { core, store, readModel, rates, clock, random, log, mayPay: audit.mayPay })
    : null;
  const expiry = startExpiry(config, core, watched, clock, random, log);
  const { observer } = metrics.webhooks;
  const { webhookRules: rules } = parts;
  const headerPrefix = config.HEADER_PREFIX;
  const webhooks = await startWebhooks({ core, store, readModel, answers, clock, random, log, rules, headerPrefix, caughtUp, observer, tracing });
  return {
    testWallet,
    watched,
    payouts,
    webhooks,
    close: async () => {
      await payouts?.stop();
      await expiry.close();
      await Promise.all(watched.map(({ watcher }) => watcher.stop()));
      await webhooks.close();
    },
  };
}

async function watchAll(
  { storage, clock, random, log, chains, solana }: ServiceParts,
  { core, store, metrics }: Foundation,
  sandbox: boolean,
): Promise<WatchedNetwork[]> {
  const [oldest] = await store.readAll({ after: null, limit: 1, streamPrefixes: ['session-'] });
  const deps: WatchDeps = {
    core,
    store,
    readModel: storage.readModel,
    clock,
    random,
    log,
    oldestSessionSec: oldest ? toSec(oldest.atMs) : null,
    observerOf: (mode: Mode, network: Network) => metrics.chains.watchObserver(mode, network),
  };
  const byAccounts = await Promise.all((solana ?? []).map(({ chain, replaced }) => watchSolana(deps, chain, { sandbox, replaced })));
  return [...chains.map((chain) => watch(deps, chain, { sandbox })), ...byAccounts];
}

function startExpiry(config: Config, core: Core, watched: readonly WatchedNetwork[], clock: Clock, random: Random, log: Logger): ExpireSessions {
  const expiry = new ExpireSessions({
    due: core.due,
    clock,
    maxWaitSec: config.EXPIRY_MAX_WAIT_SECONDS,
    scannedToSec: (mode, network) =>
      watched.find(({ settings }) => settings.mode === mode && settings.network === network)?.watcher.scannedToSec() ?? null,
    expire: async (id, nowSec, scannedToSec) => {
      await core.sessionHandler.execute(
        sessionStream(id),
        { type: 'ExpireSession', nowSec, scannedToSec },
        { correlationId: random.uuid(), actor: 'clock' },
      );
    },
    onError: (error, id) => log.error({ err: error, session: id }, 'a session could not be expired'),
  });
  expiry.start();
  return expiry;
}
