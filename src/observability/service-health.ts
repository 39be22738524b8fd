import { refusalText } from '../ports/chain/rpc-pool.ts';
import type { AcceptedRisk } from '../ports/signer/protocol.ts';
import type { HealthFact } from './health.ts';
import { usableSources, type NetworkProviders, type WatchedChain } from './metrics/chains.ts';
import type { RateProviderStatus } from './metrics/parts.ts';
import type { WebhookQueue } from './metrics/webhooks.ts';
import type { ClockVerdict } from '../runtime/util/clock-check.ts';
import type { ProjectionStatus } from '../runtime/projections/status.ts';

/** Consecutive failed reads before a chain counts as degraded. */
const CHAIN_FAILURES = 2;
/** Unread chain time: payers wait. Several blocks of the slowest chain, and noticed within a minute. */
const CHAIN_LAG_SEC = 50;
/** A webhook that waits longer has used up its quick retries. */
const WEBHOOK_AGE_SEC = 120;
const PROJECTION_LAG_SEC = 10;

/** An unreadable chain stops payments on that network only, so it never takes the node out of traffic. */
export function chainFacts(watched: readonly WatchedChain[], nowMs: number): HealthFact[] {
  return watched.map(({ settings, watcher }) => {
    const { consecutiveFailures, scannedToSec, readPace = null } = watcher.status();
    const lagSec = scannedToSec === null ? null : Math.max(0, Math.floor(nowMs / 1000 - scannedToSec));
    const reasons = [
      consecutiveFailures > CHAIN_FAILURES && `${consecutiveFailures} failed reads in a row`,
      lagSec === null && 'nothing read yet',
      readPace !== null &&
        readPace < 1 &&
        `read at ${readPace.toFixed(2)} times the pace of its blocks: it falls behind`,
      lagSec !== null && lagSec > CHAIN_LAG_SEC && `payments of the last ${lagSec} s are not known`,
    ].filter((reason) => reason !== false);
    return {
      name: `chain:${settings.mode}:${settings.network}`,
      ...judged(reasons, lagSec === null ? '' : `read to ${lagSec} s ago`),
    };
  });
}

/** The providers that a network's payments rely on. */
export function providerFacts(providers: readonly NetworkProviders[]): HealthFact[] {
  return providers.map(({ mode, network, pool, needsSecond }) => {
    const status = pool.status();
    const usable = usableSources(pool);
    const reasons = [
      usable === 0 && `0 of ${pool.sources} providers can be used`,
      ...status.map(({ provider, excluded, refusal }) => {
        if (excluded !== null) return `${provider} is left out: it ${excluded}`;
        return refusal !== null && `${provider}: ${refusalText(refusal)}`;
      }),
      mode === 'live' && pool.sources < 2 && 'one provider: whatever it says of a payment is believed',
      needsSecond() &&
        usable < 2 &&
        `${usable} of ${pool.sources} providers can be used: large payments wait for a second one`,
    ].filter((reason) => reason !== false);
    return { name: `providers:${mode}:${network}`, ...judged(reasons, `${usable} of ${pool.sources} usable`) };
  });
}

/** A wrong clock would set deadlines that make timely payments late. */
export function clockFacts({ isInDoubt, offsetMs, witnesses }: ClockVerdict): HealthFact[] {
  const against = witnesses.filter(({ agrees }) => !agrees);
  const named = against.map(
    ({ source, offsetMs: ms }) =>
      `${source}, which is ${Math.abs(Math.round(ms / 1000))} s ${ms > 0 ? 'behind' : 'ahead'}`,
  );
  const consequence = isInDoubt ? 'in doubt: no session is created or expires; contradicted by' : 'contradicted by';
  const reasons = against.length > 0 ? [`${consequence} ${named.join(', ')}`] : [];
  const otherwise = witnesses.length === 0 ? 'nothing heard to compare it with' : `${witnesses.length} agree`;
  return [
    {
      name: 'clock',
      ...judged(reasons, offsetMs === null ? otherwise : `${otherwise}, ${(offsetMs / 1000).toFixed(1)} s apart`),
    },
  ];
}

/** Shown for as long as the settings take them: to everybody who reads the state, and by the metric of checks. */
export function riskFacts(risks: readonly AcceptedRisk[]): HealthFact[] {
  const names = [...new Set(risks.map(({ name }) => name))];
  return names.map((name) => {
    const reasons = risks.filter((risk) => risk.name === name).map(({ why }) => why);
    return { name: `accepted-risk:${name}`, ...judged([...new Set(reasons)], '') };
  });
}

export function projectionFacts(status: readonly ProjectionStatus[]): HealthFact[] {
  return status.map(({ projection, hasCaughtUp, lagEvents, lagSec }) => {
    const reasons = [
      !hasCaughtUp && `replaying, ${lagEvents} events to go`,
      hasCaughtUp && lagSec > PROJECTION_LAG_SEC && `${lagEvents} events and ${Math.round(lagSec)} s behind`,
    ].filter((reason) => reason !== false);
    return { name: `projection:${projection}`, ...judged(reasons, `${lagEvents} events behind`) };
  });
}

/** Without a usable rate, orders in coins still work; others are refused with 503. */
export function rateFacts(status: readonly RateProviderStatus[], maxAgeSec: number): HealthFact[] {
  const usable = status.filter(({ ageMs }) => ageMs !== null && ageMs <= maxAgeSec * 1000);
  const reasons =
    usable.length === 0 ? [`no quote younger than ${maxAgeSec} s: orders that need conversion are refused`] : [];
  return [{ name: 'rates', ...judged(reasons, `${usable.length} of ${status.length} providers usable`) }];
}

/** Payments continue without them; valuations of the books use older rates, or are refused. */
export function bookRateFacts(
  missing: readonly { readonly coin: string; readonly day: string }[],
  currency: string,
): HealthFact[] {
  const [first] = missing;
  const reasons = first
    ? [`${missing.length} daily rates in ${currency} are missing, the oldest of ${first.coin} on ${first.day}`]
    : [];
  return [{ name: 'book-rates', ...judged(reasons, `no day in ${currency} is missing`) }];
}

export function webhookFacts(queue: WebhookQueue, nowMs: number): HealthFact[] {
  const oldest = queue.oldestPendingAtMs();
  const ageSec = oldest === null ? 0 : Math.max(0, Math.round((nowMs - oldest) / 1000));
  const suspended = queue.suspendedEndpoints();
  const backlog = ageSec > WEBHOOK_AGE_SEC ? [`the oldest of ${queue.pending()} waits for ${ageSec} s`] : [];
  return [
    { name: 'webhooks', ...judged(backlog, `${queue.pending()} waiting`) },
    { name: 'webhook-endpoints', ...judged(suspended > 0 ? [`${suspended} suspended`] : [], 'none suspended') },
  ];
}

const judged = (reasons: readonly string[], otherwise: string): Omit<HealthFact, 'name'> =>
  reasons.length > 0
    ? { state: 'degraded', detail: reasons.join('; ') }
    : { state: 'ok', ...(otherwise !== '' && { detail: otherwise }) };
