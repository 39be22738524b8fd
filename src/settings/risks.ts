import { type Config, RISKS, type RiskName } from '../config.ts';
import { amountOf, COINS, formatAmount, least } from '../domain/money/money.ts';
import { nativeLimitsOf } from '../domain/networks/native-limits.ts';
import { NETWORKS, type Network } from '../domain/networks/networks.ts';
import type { Log } from '../ports/log.ts';
import type { AcceptedRisk } from '../ports/signer/protocol.ts';
import { providerUrls, providerUrlsName, sourcesIn } from './providers.ts';

/*
 * Floors of live mode: settings beyond them work, but can lose money. The start is refused, unless ACCEPT_RISKS names
 * the risk, which is then shown for as long as it holds. Test mode has no floors.
 */

/** A risk that the settings take, and a plain sentence for each setting that takes it. */
export interface Risk extends AcceptedRisk {
  readonly name: RiskName;
}

/** For amounts below the second number, this many confirmations on Ethereum suffice; for any other, only finality. */
const ENOUGH_CONFIRMATIONS = [
  [64, '100000'],
  [32, '50000'],
  [12, '10000'],
  [6, '1000'],
  [3, '100'],
] as const;
const TOLERANCE_PERCENT = 5;
const TOLERANCE = '100';
const SECOND_SOURCE_FROM = '1000';
const DUST = '1';
const APPROVAL_FROM = '5000';
const PER_DAY_WITHOUT_APPROVAL = '100000';
/** Of the built-in limit, which covers several hundred payouts a day. */
const NATIVE_TIMES = 5n;
const COMPARISON_SEC = 86_400;
const RATE_AGE_SEC = 3_600;
const CHECKPOINT_SEC = 3_600;

const isAbove = (one: string, other: string): boolean => amountOf(one) > amountOf(other);

const LOOKS: Readonly<Record<RiskName, (config: Config, live: readonly Network[]) => readonly string[]>> = {
  'early-finality': (config, live) => {
    const { ETHEREUM_MIN_CONFIRMATIONS: count, ETHEREUM_FINALIZED_FROM_MAX: from } = config;
    const most = ENOUGH_CONFIRMATIONS.find(([needed]) => count >= needed)?.[1] ?? '0';
    if (!live.includes('ethereum') || !isAbove(from, most)) return [];
    return [
      `ETHEREUM_MIN_CONFIRMATIONS is ${count} and ETHEREUM_FINALIZED_FROM_MAX is ${from}: a payment of almost ${from} may count after ${count} confirmations, and a reorganisation can still take it back; with ${count}, ETHEREUM_FINALIZED_FROM_MAX may be at most ${most}`,
    ];
  },
  'wide-tolerance': ({ TOLERANCE_MAX_PERCENT: percent, TOLERANCE_MAX: most }) => [
    ...(percent > TOLERANCE_PERCENT
      ? [
          `TOLERANCE_MAX_PERCENT is ${percent}: an order may count as paid while ${percent} % of it is missing; it may be at most ${TOLERANCE_PERCENT}`,
        ]
      : []),
    ...(isAbove(most, TOLERANCE)
      ? [
          `TOLERANCE_MAX is ${most}: an order may count as paid while ${most} units of the coin are missing; it may be at most ${TOLERANCE}`,
        ]
      : []),
  ],
  'single-provider': (config, live) =>
    live
      .filter((network) => sourcesIn(providerUrls(config, 'live', network)) < 2)
      .map((network) => {
        const name = providerUrlsName('live', network);
        return `${name} has one provider, whose word about payments is believed: whoever runs it, or breaks into it, can make orders of any amount appear paid; add a second one of another company`;
      }),
  'late-second-source': ({ SECOND_SOURCE_FROM: from }) =>
    from !== undefined && isAbove(from, SECOND_SOURCE_FROM)
      ? [
          `SECOND_SOURCE_FROM is ${from}: below it one provider can make an order appear paid; it may be at most ${SECOND_SOURCE_FROM}`,
        ]
      : [],
  'ignored-payments': ({ DUST_LIMIT: dust }) =>
    isAbove(dust, DUST)
      ? [
          `DUST_LIMIT is ${dust}: smaller transfers pay nothing and are not shown as payments; it may be at most ${DUST}`,
        ]
      : [],
  'payouts-without-approval': unattendedPayouts,
  'native-coin-limits': ({ NATIVE_LIMITS: limits }, live) =>
    live.flatMap((network) => {
      const { perHour, perDay } = nativeLimitsOf(network, limits);
      const daily = least(amountOf(perDay), amountOf(perHour) * 24n);
      const most = amountOf(nativeLimitsOf(network).perDay) * NATIVE_TIMES;
      return daily <= most
        ? []
        : [
            `NATIVE_LIMITS lets ${formatAmount(daily, 0)} of the native coin of ${network} leave within a day, without approval; perDay may be at most ${formatAmount(most, 0)}`,
          ];
    }),
  'books-not-compared': ({ RECONCILE_EVERY_SECONDS: everySec }) =>
    everySec === 0 || everySec > COMPARISON_SEC
      ? [
          `RECONCILE_EVERY_SECONDS is ${everySec}: money that leaves without a record is ${everySec === 0 ? 'never noticed by itself' : 'noticed late'}; it must be from 1 to ${COMPARISON_SEC}`,
        ]
      : [],
  'old-rates': ({ RATE_MAX_AGE_SECONDS: ageSec }) =>
    ageSec > RATE_AGE_SEC
      ? [
          `RATE_MAX_AGE_SECONDS is ${ageSec}: orders are converted at rates that no market has had for so long; it may be at most ${RATE_AGE_SEC}`,
        ]
      : [],
  'rare-checkpoints': ({ AUDIT_CHECKPOINT_SECONDS: everySec }) =>
    everySec > CHECKPOINT_SEC
      ? [
          `AUDIT_CHECKPOINT_SECONDS is ${everySec}: events of that time can be changed on disk unnoticed; it may be at most ${CHECKPOINT_SEC}`,
        ]
      : [],
};

/** What refunds can take within a day before two approvers are asked, by many small ones as well as by one. */
function unattendedPayouts({ PAYOUT_LIMITS: limits = {}, PAYOUTS_PER_HOUR: perHour = 60 }: Config): string[] {
  return COINS.flatMap((coin) => {
    const of = limits[coin];
    if (!of) return [];
    const single = least(amountOf(of.perTransaction), amountOf(of.approvalFrom));
    const hourly = least(amountOf(of.perHour), single * BigInt(perHour));
    const daily = least(amountOf(of.perDay), hourly * 24n);
    return [
      ...(single > amountOf(APPROVAL_FROM)
        ? [
            `PAYOUT_LIMITS: a refund of ${formatAmount(single)} ${coin} leaves without approval; approvalFrom of ${coin} may be at most ${APPROVAL_FROM}`,
          ]
        : []),
      ...(daily > amountOf(PER_DAY_WITHOUT_APPROVAL)
        ? [
            `PAYOUT_LIMITS: refunds of ${formatAmount(daily)} ${coin} leave within a day without approval; by perHour, perDay, approvalFrom and PAYOUTS_PER_HOUR it may be at most ${PER_DAY_WITHOUT_APPROVAL}`,
          ]
        : []),
    ];
  });
}

function taken(config: Config): Risk[] {
  const live = NETWORKS.filter((network) => providerUrls(config, 'live', network).length > 0);
  if (live.length === 0) return [];
  return RISKS.flatMap((name) => {
    const why = LOOKS[name](config, live);
    return why.length === 0 ? [] : [{ name, why: why.join('; ') }];
  });
}

/** Risks in force that the operator has accepted. */
export const acceptedRisks = (config: Config): Risk[] =>
  taken(config).filter(({ name }) => config.ACCEPT_RISKS.includes(name));

export function logRisks(risks: readonly AcceptedRisk[], log: Pick<Log, 'warn'>): void {
  for (const { name, why } of risks) log.warn({ risk: name, why }, 'ACCEPT_RISKS takes a risk of live mode');
}

/** Why live mode may not start: one sentence for each risk that nobody accepted. */
export const riskFaults = (config: Config): string[] =>
  taken(config)
    .filter(({ name }) => !config.ACCEPT_RISKS.includes(name))
    .map(({ name, why }) => `${why} (whoever wants it anyway adds ${name} to ACCEPT_RISKS)`);

/** Accepted names that no setting needs: they would let a later change pass. */
export function needlessAcceptances(config: Config): RiskName[] {
  const names = taken(config).map(({ name }) => name);
  return config.ACCEPT_RISKS.filter((name) => !names.includes(name));
}
