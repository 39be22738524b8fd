import { createRates } from '../adapters/rates/create-rates.ts';
import type { Config } from '../config.ts';
import type { NetworkSettings } from '../domain/networks/networks.ts';
import { systemClock } from '../ports/clock.ts';
import { ClockCheck } from '../runtime/util/clock-check.ts';
import type { NetworkAccess } from '../settings/network-access.ts';
import { productionAccess } from '../settings/production-networks.ts';
import { lookAtPace } from './pace-look.ts';
import { lookAtHistory, lookAtProvider, type Kept } from './provider-look.ts';
import { fault, ok, skipped, warning, type Finding } from './finding.ts';
import { messageOf } from '../runtime/util/message-of.ts';

const SLOW_MS = 2_000;
/** Blocks are read twice, and after an outage those that were missed, too. */
const LEAST_PACE = 3;
/** Orders are refunded for weeks. */
const LEAST_KEPT_SEC = 90 * 86_400;
/** Allowed difference between the providers of one network, in blocks. */
const MOST_APART = { ethereum: 5, bsc: 30, tron: 30, solana: 150 } as const;

/** Chain providers, rate markets, and the clock, which is compared with their responses. */
export async function networkFindings(config: Config): Promise<Finding[]> {
  const check = new ClockCheck(systemClock);
  const networks = productionAccess(config).map(async (access) => {
    const heads: { readonly name: string; readonly head: number }[] = [];
    const found = await Promise.all(access.urls.map((url) => providerFindings(access, url, { check, heads })));
    return [...found.flat(), ...agreement(access.settings, heads)];
  });
  const [rates, ...found] = await Promise.all([rateFindings(config, check), ...networks]);
  return [...found.flat(), ...rates, clockFinding(check)];
}

async function providerFindings(
  access: NetworkAccess,
  url: string,
  { check, heads }: { readonly check: ClockCheck; readonly heads: { name: string; head: number }[] },
): Promise<Finding[]> {
  const { mode, network, chainId } = access.settings;
  const name = `provider:${mode}:${network}:${URL.parse(url)?.host ?? '?'}`;
  try {
    const { head, latencyMs, historyFault } = await lookAtProvider(access, url, { onServerTime: check.heard });
    heads.push({ name, head });
    const [kept, pace] = [await lookAtHistory(access, url), await lookAtPace(access, url)];
    return [
      historyFault === null
        ? ok(name, `serves chain ${chainId} and its tokens with finality, head ${head}, ${Math.round(latencyMs)} ms`)
        : warning(name, historyFault, 'use one that has them: after an outage they are read again'),
      ...(kept === null ? [] : keptFindings(name, kept)),
      ...(pace !== null && pace.readPerSec < LEAST_PACE * pace.madePerSec
        ? [
            warning(
              name,
              `${pace.readPerSec.toFixed(1)} blocks a second can be read of it, and ${pace.madePerSec.toFixed(1)} are made: payments are seen late, after an outage ever later`,
              'use one that serves the logs of many blocks in a call (eth_getLogs), a nearer one, or a larger plan',
            ),
          ]
        : []),
      ...(latencyMs > SLOW_MS
        ? [warning(name, `answers after ${Math.round(latencyMs)} ms`, 'choose a nearer one, or a larger plan')]
        : []),
    ];
  } catch (error) {
    return [fault(name, messageOf(error), 'correct its URL or key, or use another provider')];
  }
}

/** Refunds and payouts of older transactions depend on whether anybody still shows them. */
function keptFindings(name: string, { sec, servesOlderBlocks }: Kept): Finding[] {
  const knows = `knows transactions of the last ${inWords(sec)}`;
  if (servesOlderBlocks)
    return [
      ok(
        name,
        `${knows} by their hashes; refunds of older deposits find them in their blocks, and payouts that landed longer ago while the service was down are found by their transfers`,
      ),
    ];
  if (sec >= LEAST_KEPT_SEC) return [];
  return [
    warning(
      name,
      `${knows}: refunds of older deposits wait, since nobody can see the deposit, and so do payouts that landed longer ago while the service was down`,
      'name a provider that keeps the whole chain, at least as the second one',
    ),
  ];
}

const inWords = (sec: number): string =>
  sec >= 2 * 86_400 ? `${Math.floor(sec / 86_400)} days` : `${(sec / 3600).toFixed(1)} hours`;

function agreement(
  { mode, network }: NetworkSettings,
  heads: readonly { readonly name: string; readonly head: number }[],
): Finding[] {
  if (heads.length < 2) return [];
  const best = Math.max(...heads.map(({ head }) => head));
  const behind = heads.filter(({ head }) => best - head > MOST_APART[network]);
  return behind.length === 0
    ? [ok(`agreement:${mode}:${network}`, `${heads.length} providers are at the same block`)]
    : behind.map(({ name, head }) =>
        warning(name, `is ${best - head} blocks behind the others`, 'replace it if it stays behind'),
      );
}

async function rateFindings(config: Config, check: ClockCheck): Promise<Finding[]> {
  const { RATE_PROVIDERS: providers = [], RATE_STATIC: staticText, RATE_MAX_AGE_SECONDS: maxAgeSec } = config;
  if (providers.length === 0) return [];
  const urls = {
    coinbase: config.RATE_COINBASE_URL,
    kraken: config.RATE_KRAKEN_URL,
    coingecko: config.RATE_COINGECKO_URL,
  };
  const rates = createRates({ providers, staticText, urls, maxAgeSec }, systemClock, undefined, check.heard);
  try {
    // Waits for the first responses, within bounds.
    await rates.lock('USD', 'USDT', systemClock.nowMs());
    const status = rates.status();
    const down = status.filter(({ ageMs }) => ageMs === null);
    const action = 'check that the host can reach it over https; orders in coins work without it';
    if (down.length === status.length)
      return [
        fault(
          'rates',
          `no rate source answers: ${down.map(({ provider, lastError }) => `${provider} ${lastError}`).join('; ')}`,
          action,
        ),
      ];
    return [
      ok('rates', `${status.length - down.length} of ${status.length} rate sources answer`),
      ...down.map(({ provider, lastError }) =>
        warning('rates', `${provider} ${lastError ?? 'did not answer'}`, action),
      ),
    ];
  } finally {
    await rates.close();
  }
}

function clockFinding(check: ClockCheck): Finding {
  const { isInDoubt, offsetMs, witnesses } = check.verdict();
  if (witnesses.length === 0) return skipped('clock', 'no server answered whose clock could be compared');
  const seconds = (offsetMs ?? 0) / 1000;
  const apart = `${Math.abs(seconds).toFixed(1)} s ${seconds < 0 ? 'behind' : 'ahead of'} ${witnesses.length} of the queried servers`;
  return isInDoubt
    ? fault('clock', apart, 'set it with a time service (chrony, systemd-timesyncd)')
    : ok('clock', apart);
}
