import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HealthChecks } from '../../../../src/observability/health.ts';
import { Metrics } from '../../../../src/observability/metrics/metrics.ts';
import { reportBackups, reportShipping } from '../../../../src/observability/metrics/backup.ts';
import { reportStoreCertificates } from '../../../../src/observability/metrics/store.ts';
import { reportCanaries, reportCanaryLease } from '../../../../src/observability/metrics/canary.ts';
import { reportAudit, reportDrift } from '../../../../src/observability/metrics/audit.ts';
import { reportInbox } from '../../../../src/observability/metrics/inbox.ts';
import {
  reportAddresses,
  reportClock,
  reportComparisons,
  reportBookRates,
  reportLedger,
  reportOwnership,
  reportPayouts,
  reportRates,
  reportSigner,
  reportTreasury,
} from '../../../../src/observability/metrics/parts.ts';
import {
  chainFacts,
  clockFacts,
  providerFacts,
  rateFacts,
  webhookFacts,
} from '../../../../src/observability/service-health.ts';
import { StoreUnavailable, type EventStore } from '../../../../src/ports/event-log/event-store.ts';
import { REPOSITORY } from '../../../support/repository.ts';

const PROMTOOL = ['/usr/bin/promtool', '/usr/local/bin/promtool'].find((path) => existsSync(path));
const NOW_MS = 1_700_000_000_000;
const clock = { nowMs: () => NOW_MS };
const ethereum = { mode: 'live', network: 'ethereum' } as const;

const watcher = (change: { consecutiveFailures?: number; scannedToSec?: number | null } = {}) => ({
  status: () => ({
    headBlock: 120,
    scannedBlock: 110,
    scannedToSec: NOW_MS / 1000 - 30,
    finalizedBlock: 90,
    coveredBlock: 80,
    trackedDeposits: 2,
    consecutiveFailures: 0,
    ...change,
  }),
});

function allMetrics(): Metrics {
  const metrics = new Metrics({ clock, version: '1.2.3', dataDir: tmpdir() });
  const { registry } = metrics;
  metrics.chains.add({ settings: ethereum, watcher: watcher() });
  metrics.money.addNetwork('live', 'ethereum');
  metrics.money.addUnderWay(
    registry,
    {
      openSessions: () => [{ mode: 'live', status: 'open' }],
      openRefunds: () => [{ mode: 'live', status: 'PENDING', requestedAtSec: NOW_MS / 1000 - 7 }],
    },
    clock,
  );
  metrics.projections.add(registry, {
    status: () => [{ projection: 'session-view@1', position: null, hasCaughtUp: true, lagEvents: 3, lagSec: 4 }],
  });
  metrics.webhooks.add(
    registry,
    () => ({ inFlight: 1, inMemory: 2, retrying: 1, lag: 0 }),
    { pending: () => 5, oldestPendingAtMs: () => NOW_MS - 9_000, suspendedEndpoints: () => 1 },
    clock,
  );
  reportRates(registry, () => [{ provider: 'kraken', ageMs: 2_000, breaker: 'closed' }], 300);
  reportAddresses(registry, () => [{ mode: 'live', family: 'evm', available: 9, target: 10, exhausted: false }]);
  reportSigner(registry, () => true);
  reportOwnership(registry, () => [{ mode: 'live', family: 'evm', ownership: 'foreign' }]);
  reportCanaries(metrics.registry, () => [], 3600);
  reportClock(registry, () => ({ isInDoubt: true, offsetMs: -7_200_000, witnesses: [] }));
  reportPayouts(registry, () => [{ ...ethereum, alarm: null, waiting: [{ reason: 'insufficient_gas' }] }]);
  reportComparisons(registry, () => [
    { ...ethereum, kind: 'treasury', failures: 2, why: 'no provider', overdueSec: 60 },
  ]);
  reportTreasury(registry, () => [{ ...ethereum, kind: 'gas', coin: 'ETH', amount: 0.4 }]);
  reportBookRates(registry, () => [{ coin: 'BNB' }]);
  reportLedger(registry, { imbalances: () => [{ mode: 'live', coin: 'USDT', amount: 0 }] });
  const state = { size: 9, integrity: 'damaged', fault: 'event 4' } as const;
  reportAudit(registry, { state: () => state, signedAtMs: () => NOW_MS - 60_000, readOnly: () => 'event 4' }, clock);
  reportInbox(registry, () => [{ mode: 'live', network: 'bsc', transfers: 1, oldestSec: NOW_MS / 1000 - 60 }], clock);
  reportBackups(registry, { data: () => null, signer: () => NOW_MS - 60_000 }, clock);
  reportShipping(registry, () => Promise.resolve(0));
  reportStoreCertificates(registry, () => [{ certificate: 'store-1:2113', expiresAtMs: NOW_MS }]);
  metrics.projections.addAgreement(registry, { differing: () => ['session-view@1'] });
  reportCanaryLease(registry, 'test', () => true);
  reportDrift(registry, () => [{ projection: 'session-view@1', rows: 2 }]);
  metrics.addHealth(new HealthChecks());
  return metrics;
}

const value = (text: string, series: string): number | null => {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length + 1));
};

describe('metrics', () => {
  it.skipIf(PROMTOOL === undefined)('follow the rules of Prometheus for names and units', async () => {
    const text = await allMetrics().registry.metrics();
    expect(execFileSync(PROMTOOL!, ['check', 'metrics'], { input: text, encoding: 'utf8' })).toBe('');
  });

  it('are all known to somebody: each is on a dashboard, in an alert or in the table of docs/observability.md', async () => {
    const names = (await allMetrics().registry.getMetricsAsJSON())
      .map(({ name }) => name)
      .filter((name) => name.startsWith('quittance_'));
    const files = [
      'docs/observability.md',
      'ops/prometheus/alerts.yml',
      ...readdirSync(join(REPOSITORY, 'ops/grafana')).map((name) => `ops/grafana/${name}`),
    ];
    const known = files.map((name) => readFileSync(join(REPOSITORY, name), 'utf8')).join('\n');
    expect(names.filter((name) => !new RegExp(`\\b${name}(_bucket|_sum|_count)?\\b`).test(known))).toEqual([]);
  });

  it('exist for every name used in dashboards and alerts', async () => {
    const names = new Set((await allMetrics().registry.getMetricsAsJSON()).map(({ name }) => name));
    const files = [
      'ops/prometheus/alerts.yml',
      ...readdirSync(join(REPOSITORY, 'ops/grafana')).map((name) => `ops/grafana/${name}`),
    ];
    const used = files.flatMap(
      (file) => readFileSync(join(REPOSITORY, file), 'utf8').match(/\b(quittance|nodejs|process)_[a-z0-9_]+\b/g) ?? [],
    );
    expect(
      [...new Set(used)].filter((name) => !names.has(name.replace(/_(bucket|sum|count)$/, '')) && !names.has(name)),
    ).toEqual([]);
  });

  it('show heads, gaps and ages of a chain', async () => {
    const text = await allMetrics().registry.metrics();
    const where = '{mode="live",network="ethereum"}';
    expect(value(text, `quittance_chain_head_block${where}`)).toBe(120);
    expect(value(text, `quittance_chain_scan_gap_blocks${where}`)).toBe(10);
    expect(value(text, `quittance_chain_coverage_gap_blocks${where}`)).toBe(10);
    expect(value(text, `quittance_chain_scan_lag_seconds${where}`)).toBe(30);
  });

  it('show what is under way with its age', async () => {
    const text = await allMetrics().registry.metrics();
    expect(value(text, 'quittance_sessions_open{mode="live",status="open"}')).toBe(1);
    expect(value(text, 'quittance_refunds_open{mode="live",status="PENDING"}')).toBe(1);
    expect(value(text, 'quittance_refund_oldest_open_age_seconds{mode="live"}')).toBe(7);
    expect(value(text, 'quittance_webhook_oldest_pending_age_seconds')).toBe(9);
    expect(value(text, 'quittance_audit_checkpoint_age_seconds')).toBe(60);
    expect(value(text, 'quittance_audit_integrity')).toBe(2);
    expect(value(text, 'quittance_read_only')).toBe(1);
    expect(value(text, 'quittance_projection_drift_rows{projection="session-view@1"}')).toBe(2);
  });

  it('stop reporting the lag of projections once another process runs them', async () => {
    const metrics = new Metrics({ clock, version: '1.2.3', dataDir: tmpdir() });
    let status = [{ projection: 'session-view@1', position: null, hasCaughtUp: false, lagEvents: 300, lagSec: 40 }];
    metrics.projections.add(metrics.registry, { status: () => status });
    const lag = async () =>
      value(await metrics.registry.metrics(), 'quittance_projection_lag_seconds{projection="session-view@1"}');
    expect(await lag()).toBe(40);
    status = [];
    expect(await lag()).toBeNull();
  });

  it('stop reporting payouts once another process pays', async () => {
    const { registry } = new Metrics({ clock, version: '1.2.3', dataDir: tmpdir() });
    let status = [
      {
        ...ethereum,
        alarm: 'an outflow nobody ordered' as string | null,
        waiting: [{ reason: 'payouts_stopped' as const }],
      },
    ];
    reportPayouts(registry, () => status);
    const series = [
      'quittance_treasury_alarm{mode="live",network="ethereum"}',
      'quittance_refund_payouts_waiting{mode="live",network="ethereum",reason="payouts_stopped"}',
    ];
    const seen = async () => {
      const text = await registry.metrics();
      return series.map((one) => value(text, one));
    };
    expect(await seen()).toEqual([1, 1]);
    status = [];
    expect(await seen()).toEqual([null, null]);
  });

  it("measure from the event, whose time is in the notification's id, to the accepted webhook", async () => {
    const metrics = allMetrics();
    const attempt = {
      notificationId: `evt_${NOW_MS}000000`,
      merchantId: 'mer_x',
      endpointId: 'we_x',
      attempt: 1,
      nonce: 'n',
      startedAtMs: NOW_MS + 1_500,
      durationMs: 500,
      address: null,
      status: 200,
      failure: null,
      detail: null,
      answerIncomplete: false,
      answerHash: null,
      nextAttemptAtMs: null,
      trigger: 'automatic',
    } as unknown as Parameters<NonNullable<Metrics['webhooks']['observer']['onAttempt']>>[0];
    const delivery = { eventType: 'payment.completed', mode: 'live' } as const;
    metrics.webhooks.observer.onAttempt?.(attempt, delivery);
    metrics.webhooks.observer.onAttempt?.({ ...attempt, trigger: 'manual', startedAtMs: NOW_MS + 1e9 }, delivery);
    metrics.webhooks.observer.onAttempt?.({ ...attempt, failure: 'http_5xx' }, delivery);
    const text = await metrics.registry.metrics();
    expect(value(text, 'quittance_event_to_webhook_delivered_seconds_sum{event_type="payment.completed"}')).toBe(2);
    expect(value(text, 'quittance_event_to_webhook_delivered_seconds_count{event_type="payment.completed"}')).toBe(1);
    expect(value(text, 'quittance_webhook_attempts_total{mode="live",result="http_5xx",trigger="automatic"}')).toBe(1);
  });

  it('show the age of a follower that hangs on its very first event', async () => {
    let nowMs = NOW_MS;
    const metrics = new Metrics({ clock: { nowMs: () => nowMs }, version: '1.2.3', dataDir: tmpdir() });
    let lag = 0;
    const store = metrics.store.observe({
      subscribe: () => ({
        position: null,
        get lag() {
          return lag;
        },
      }),
    } as unknown as EventStore);
    store.subscribe({ name: 'pay-refunds', after: null, onEvents: () => undefined });
    nowMs += 40_000;
    const age = async () =>
      value(await metrics.registry.metrics(), 'quittance_subscription_lag_seconds{subscription="pay-refunds"}');
    expect(await age()).toBe(0);
    lag = 3;
    expect(await age()).toBe(40);
  });

  it('count appends by what became of them, and let faults through', async () => {
    const metrics = allMetrics();
    const answers = [{ ok: true, revision: 0, position: '1' } as const, { ok: false, actual: 4 } as const, null];
    const store = metrics.store.observe({
      append: async () => {
        const answer = answers.shift();
        if (!answer) throw new StoreUnavailable('gone');
        return answer;
      },
    } as unknown as EventStore);
    const request = { stream: 'session-x', expected: 'no-stream', events: [] } as const;
    expect((await store.append(request)).ok).toBe(true);
    expect((await store.append(request)).ok).toBe(false);
    await expect(store.append(request)).rejects.toThrow(StoreUnavailable);
    const text = await metrics.registry.metrics();
    expect(
      ['ok', 'conflict', 'error'].map((result) => value(text, `quittance_store_appends_total{result="${result}"}`)),
    ).toEqual([1, 1, 1]);
  });

  it('have no label that could hold a merchant, a session or a person', async () => {
    const allowed = new Set(
      'reason operation status fault mode network provider method result beyond_finality after_final kind subscription projection outcome coin currency event_type trigger level check version node_version family type space certificate major minor patch le quantile'.split(
        ' ',
      ),
    );
    const text = await allMetrics().registry.metrics();
    const labels = new Set([...text.matchAll(/[{,]([a-z_]+)="/g)].map((match) => match[1]!));
    expect([...labels].filter((label) => !allowed.has(label))).toEqual([]);
  });
});

describe('health', () => {
  it('degrades a chain that fails or lags, and never takes the node out of traffic for it', () => {
    const failing = chainFacts([{ settings: ethereum, watcher: watcher({ consecutiveFailures: 5 }) }], NOW_MS);
    expect(failing).toEqual([{ name: 'chain:live:ethereum', state: 'degraded', detail: '5 failed reads in a row' }]);
    // A chain that stands still while every read succeeds is noticed within a minute.
    expect(
      chainFacts([{ settings: ethereum, watcher: watcher({ scannedToSec: NOW_MS / 1000 - 55 }) }], NOW_MS)[0]?.state,
    ).toBe('degraded');
    const lagging = chainFacts(
      [{ settings: ethereum, watcher: watcher({ scannedToSec: NOW_MS / 1000 - 600 }) }],
      NOW_MS,
    );
    expect(lagging).toMatchObject([{ state: 'degraded', detail: 'payments of the last 600 s are not known' }]);
    expect(chainFacts([{ settings: ethereum, watcher: watcher() }], NOW_MS)[0]?.state).toBe('ok');
  });

  it('reports a live network as degraded with one provider, with an excluded one, and without a second source', () => {
    const provider = (name: string, change = {}) => ({
      provider: name,
      healthy: true,
      lagBlocks: 0,
      consecutiveFaults: 0,
      excluded: null,
      refusal: null,
      reported: { head: null, final: null, read: null },
      ...change,
    });
    const facts = (mode: 'live' | 'test', sources: number, ...status: ReturnType<typeof provider>[]) =>
      providerFacts([
        { mode, network: 'bsc', pool: { sources, status: () => status }, needsSecond: () => sources > 1 },
      ])[0];
    expect(facts('live', 2, provider('a'), provider('b'))).toEqual({
      name: 'providers:live:bsc',
      state: 'ok',
      detail: '2 of 2 usable',
    });
    expect(facts('test', 1, provider('a'))?.state).toBe('ok');
    expect(facts('live', 1, provider('a'))).toMatchObject({
      state: 'degraded',
      detail: expect.stringMatching(/^one provider/) as string,
    });
    expect(facts('live', 1, provider('a'), provider('a#2'))?.state).toBe('degraded');
    expect(facts('live', 2, provider('a'), provider('b', { excluded: 'serves chain 1 instead of 56' }))).toMatchObject({
      state: 'degraded',
      detail:
        'b is left out: it serves chain 1 instead of 56; 1 of 2 providers can be used: large payments wait for a second one',
    });
    expect(facts('live', 2, provider('a'), provider('b', { healthy: false }))?.state).toBe('degraded');
    expect(facts('test', 1, provider('a', { consecutiveFaults: 1 }))).toMatchObject({
      state: 'degraded',
      detail: '0 of 1 providers can be used',
    });
  });

  it('says what a provider refused in words that nobody knows', () => {
    const refusal = { kind: 'unknown' as const, text: 'eth_getLogs: no such luck (-32000)', ageSec: 5 };
    const status = {
      ...{ provider: 'a', healthy: true, lagBlocks: 0, consecutiveFaults: 0, excluded: null, refusal },
      reported: { head: null, final: null, read: null },
    };
    const pool = { sources: 1, status: () => [status] };
    const [fact] = providerFacts([{ mode: 'test', network: 'bsc', pool, needsSecond: () => false }]);
    expect(fact).toMatchObject({
      state: 'degraded',
      detail: 'a: unknown answer, 5 s ago: eth_getLogs: no such luck (-32000)',
    });
  });

  it('degrades rates only when no provider is usable', () => {
    const fresh = { provider: 'kraken', ageMs: 1_000, breaker: 'closed' } as const;
    const stale = { provider: 'coinbase', ageMs: 900_000, breaker: 'open' } as const;
    const against = { source: 'chain:live:bsc', offsetMs: -7_200_000, agrees: false };
    expect(clockFacts({ isInDoubt: true, offsetMs: -7_199_600, witnesses: [against] })[0]).toEqual({
      name: 'clock',
      state: 'degraded',
      detail: 'in doubt: no session is created or expires; contradicted by chain:live:bsc, which is 7200 s ahead',
    });
    expect(clockFacts({ isInDoubt: false, offsetMs: null, witnesses: [] })[0]?.state).toBe('ok');
    expect(rateFacts([fresh, stale], 300)[0]?.state).toBe('ok');
    expect(rateFacts([stale], 300)[0]?.state).toBe('degraded');
  });

  it('degrades webhooks when one waits too long or an endpoint is suspended', () => {
    const queue = (ageMs: number | null, suspended: number) => ({
      pending: () => 1,
      oldestPendingAtMs: () => (ageMs === null ? null : NOW_MS - ageMs),
      suspendedEndpoints: () => suspended,
    });
    expect(webhookFacts(queue(null, 0), NOW_MS).map(({ state }) => state)).toEqual(['ok', 'ok']);
    expect(webhookFacts(queue(600_000, 2), NOW_MS).map(({ state }) => state)).toEqual(['degraded', 'degraded']);
  });

  it('is ready between start and shutdown unless a part is down', () => {
    const health = new HealthChecks();
    let state: 'ok' | 'degraded' | 'down' = 'ok';
    health.add(() => ({ name: 'part', state }));
    expect([health.hasStarted, health.report().ready]).toEqual([false, false]);
    health.started();
    expect([health.hasStarted, health.report().ready]).toEqual([true, true]);
    state = 'degraded';
    expect(health.report().ready).toBe(true);
    state = 'down';
    expect(health.report().ready).toBe(false);
    state = 'ok';
    health.stopping();
    expect(health.report()).toMatchObject({
      ready: false,
      facts: [{ name: 'shutdown', state: 'down' }, { name: 'part' }],
    });
  });
});
