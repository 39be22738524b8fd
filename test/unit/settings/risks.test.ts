import { describe, expect, it } from 'vitest';
import { readConfig, RISKS } from '../../../src/config.ts';
import { riskFacts } from '../../../src/observability/service-health.ts';
import { settingsFindings } from '../../../src/doctor/settings-checks.ts';
import { productionFaults } from '../../../src/settings/production-faults.ts';
import { acceptedRisks, needlessAcceptances, riskFaults } from '../../../src/settings/risks.ts';

const TWO = 'https://one.example,https://two.example';
const live = { ETHEREUM_RPC_URLS: TWO, BSC_RPC_URLS: TWO, TRON_API_URLS: TWO, SOLANA_RPC_URLS: TWO };
type Env = Readonly<Record<string, string>>;
const faults = (env: Env): string[] => riskFaults(readConfig({ ...live, ...env }));
const ethereum = (count: number, from: string, env: Env = {}): Env => ({
  ...{ ETHEREUM_MIN_CONFIRMATIONS: String(count), ETHEREUM_FINALIZED_FROM_MAX: from },
  ...env,
});
const limits = (perTransaction: string, perHour: string, perDay: string, approvalFrom: string): Env => ({
  PAYOUT_LIMITS: JSON.stringify({ USDC: { perTransaction, perHour, perDay, approvalFrom } }),
});

describe('the floors of live mode', () => {
  it('are kept by the defaults', () => expect(faults({})).toEqual([]));

  it.each([
    // Confirmations on Ethereum by the amount that counts on them.
    [1, '0', true],
    [1, '0.01', false],
    [2, '100', false],
    [3, '100', true],
    [3, '100.000001', false],
    [6, '1000', true],
    [6, '1001', false],
    [11, '10000', false],
    [12, '10000', true],
    [12, '10001', false],
    [32, '50000', true],
    [32, '50001', false],
    [64, '100000', true],
    [96, '100001', false],
    [1, '1000000', false],
    [96, '1000000', false],
  ] as const)('%i confirmations for payments below %s: %s', (count, from, allowed) => {
    expect(faults(ethereum(count, from)).length === 0).toBe(allowed);
  });

  it.each([
    ['early-finality', ethereum(1, '1000000'), /^ETHEREUM_MIN_CONFIRMATIONS is 1 and .*1000000.*at most 0\b/],
    ['wide-tolerance', { TOLERANCE_MAX_PERCENT: '6' }, /^TOLERANCE_MAX_PERCENT is 6: .*at most 5\b/],
    ['wide-tolerance', { TOLERANCE_MAX: '100.01' }, /^TOLERANCE_MAX is 100\.01: .*at most 100\b/],
    ['single-provider', { TRON_API_URLS: 'https://one.example' }, /^TRON_API_URLS has one provider/],
    ['single-provider', { BSC_RPC_URLS: 'https://one.example/a,https://one.example/b' }, /^BSC_RPC_URLS has one/],
    ['single-provider', { SOLANA_RPC_URLS: 'https://one.example' }, /^SOLANA_RPC_URLS has one provider/],
    ['late-second-source', { SECOND_SOURCE_FROM: '1001' }, /^SECOND_SOURCE_FROM is 1001: .*at most 1000\b/],
    ['ignored-payments', { DUST_LIMIT: '1.01' }, /^DUST_LIMIT is 1\.01: .*at most 1\b/],
    ['payouts-without-approval', limits('6000', '6000', '6000', '5001'), /refund of 5001.00 USDC leaves without/],
    ['payouts-without-approval', limits('5001', '6000', '6000', '999999'), /refund of 5001.00 USDC leaves without/],
    ['payouts-without-approval', limits('500', '99999', '200000', '500'), /refunds of 200000.00 USDC leave within a/],
    ['payouts-without-approval', limits('500', '5000', '999999', '500'), /refunds of 120000.00 USDC leave within a/],
    [
      'native-coin-limits',
      { NATIVE_LIMITS: '{"solana":{"perHour":"9","perDay":"16"}}' },
      /lets 16 .*solana.*at most 15\b/,
    ],
    ['books-not-compared', { RECONCILE_EVERY_SECONDS: '0' }, /^RECONCILE_EVERY_SECONDS is 0: .*never noticed/],
    ['books-not-compared', { RECONCILE_EVERY_SECONDS: '86401' }, /^RECONCILE_EVERY_SECONDS is 86401: .*late/],
    ['old-rates', { RATE_MAX_AGE_SECONDS: '3601' }, /^RATE_MAX_AGE_SECONDS is 3601: .*at most 3600\b/],
    ['rare-checkpoints', { AUDIT_CHECKPOINT_SECONDS: '3601' }, /^AUDIT_CHECKPOINT_SECONDS is 3601: /],
  ] as const)('%s: refused in a plain sentence, and shown once it is accepted', (name, env, sentence) => {
    const why = expect.stringMatching(sentence) as string;
    expect(faults(env)).toEqual([why]);
    expect(faults(env)[0]).toContain(`adds ${name} to ACCEPT_RISKS`);
    const all: Env = { ...live, ...env };
    expect(productionFaults(readConfig(all), all)).toContain(faults(env)[0]);
    const others = RISKS.filter((other) => other !== name).join(',');
    expect(faults({ ...env, ACCEPT_RISKS: others })).toEqual([why]);
    const accepted = readConfig({ ...all, ACCEPT_RISKS: name });
    expect(riskFaults(accepted)).toEqual([]);
    expect(acceptedRisks(accepted)).toEqual([{ name, why }]);
    expect(settingsFindings(accepted, all)).toContainEqual(
      expect.objectContaining({ check: `accepted-risk:${name}`, state: 'warning', why }),
    );
    expect(riskFacts(acceptedRisks(accepted))).toEqual([
      { name: `accepted-risk:${name}`, state: 'degraded', detail: why },
    ]);
  });

  it.each([
    ['many refunds at the bounds', limits('5000', '5000', '100000', '5000')],
    ['large refunds that two approvers see', limits('900000', '10000', '90000', '100')],
    ['few refunds an hour', { ...limits('1000', '99999', '999999', '1000'), PAYOUTS_PER_HOUR: '4' }],
    ['limits of a day that the hour never reaches', { NATIVE_LIMITS: '{"solana":{"perDay":"999"}}' }],
    ['the other bounds', { SECOND_SOURCE_FROM: '1000', DUST_LIMIT: '1', RECONCILE_EVERY_SECONDS: '86400' }],
  ])('allow %s', (_, env) => expect(faults(env)).toEqual([]));

  it('name every risk at once, however they are combined', () => {
    const env = { ...ethereum(1, '1000000'), TOLERANCE_MAX_PERCENT: '50', TOLERANCE_MAX: '500000' };
    expect(faults(env)).toHaveLength(2);
    expect(faults({ ...env, ACCEPT_RISKS: 'wide-tolerance' })).toHaveLength(1);
    expect(faults({ ...env, ACCEPT_RISKS: 'wide-tolerance, early-finality' })).toEqual([]);
  });

  it('are none of test mode, and none of a network without providers', () => {
    const env = { ...ethereum(1, '1000000'), TOLERANCE_MAX_PERCENT: '50', RECONCILE_EVERY_SECONDS: '0' };
    expect(riskFaults(readConfig({ ...env, TEST_ETHEREUM_RPC_URLS: TWO }))).toEqual([]);
    expect(riskFaults(readConfig({ ...ethereum(1, '1000000'), BSC_RPC_URLS: TWO }))).toEqual([]);
  });

  it('say which acceptance is needed no more, and know no other names', () => {
    expect(needlessAcceptances(readConfig({ ...live, ACCEPT_RISKS: 'old-rates' }))).toEqual(['old-rates']);
    expect(() => readConfig({ ACCEPT_RISKS: 'old-rates,everything' })).toThrow(/^ACCEPT_RISKS/);
  });
});
