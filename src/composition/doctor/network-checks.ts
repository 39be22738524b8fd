import { createRates } from '../../adapters/rates/create-rates.ts';
import { verifyProvider } from '../../adapters/evm/provider-check.ts';
import { createRpcPool } from '../../adapters/rpc/pool.ts';
import { verifySolanaProvider } from '../../adapters/solana/provider-check.ts';
import { newestBlock } from '../../adapters/tron/rpc.ts';
import { verifyTronProvider } from '../../adapters/tron/provider-check.ts';
import type { Config } from '../../config.ts';
import type { NetworkSettings } from '../../domain/networks.ts';
import { systemClock } from '../../ports/clock.ts';
import type { RpcProvider } from '../../ports/rpc-pool.ts';
import { ClockCheck } from '../../runtime/util/clock-check.ts';
import { productionAccess } from '../production-networks.ts';
import { fault, ok, skipped, warning, type Finding } from './finding.ts';
import { messageOf } from '../../runtime/util/message-of.ts';

const TIMEOUT_MS = 8_000;
const SLOW_MS = 2_000;
/** A provider must still have what a node reads after a day without it. */
const HISTORY_BLOCKS = 10_000;
/** Blocks that providers of one network may be apart. */
const MOST_APART = { ethereum: 5, bsc: 30, tron: 30, solana: 150 } as const;

/** Chain providers, rate markets, and the clock, which their answers tell. */
export async function networkFindings(config: Config): Promise<Finding[]> {
  const check = new ClockCheck(systemClock);
  const networks = productionAccess(config).map(async ({ settings, urls, headers }) => {
    const heads: { readonly name: string; readonly head: number }[] = [];
    const found = await Promise.all(urls.map((address) => providerFindings(address, settings, headers ?? {}, { check, heads })));
    return [...found.flat(), ...agreement(settings, heads)];
  });
  const [rates, ...found] = await Promise.all([rateFindings(config, check), ...networks]);
  return [...found.flat(), ...rates, clockFinding(check)];
}

async function providerFindings(
  address: string,
  settings: NetworkSettings,
  headers: Readonly<Record<string, string>>,
  { check, heads }: { readonly check: ClockCheck; readonly heads: { name: string; head: number }[] },
): Promise<Finding[]> {
  const { mode, network } = settings;
  const pool = createRpcPool({ network, urls: [address], headers, timeoutMs: TIMEOUT_MS, maxWaitMs: 0, observer: { onServerTime: check.heard } });
  const name = `provider:${mode}:${network}:${URL.parse(address)?.host ?? '?'}`;
  try {
    const startedMs = performance.now();
    const { value: head } = await pool.run((provider) => headOf(provider, network));
    const latencyMs = performance.now() - startedMs;
    heads.push({ name, head });
    await pool.run((provider) => verify(provider, settings));
    const history = network === 'ethereum' || network === 'bsc' ? await historyFault(pool, head, settings) : null;
    return [
      history ?? ok(name, `serves chain ${settings.chainId} and its tokens with finality, head ${head}, ${Math.round(latencyMs)} ms`),
      ...(latencyMs > SLOW_MS ? [warning(name, `answers after ${Math.round(latencyMs)} ms`, 'choose one that is nearer, or a larger plan')] : []),
    ];
  } catch (error) {
    return [fault(name, messageOf(error), 'correct its address or key, or name another provider')];
  } finally {
    await pool.close();
  }
}

function verify(provider: RpcProvider, settings: NetworkSettings): Promise<void> {
  if (settings.network === 'solana') return verifySolanaProvider(provider, settings);
  return settings.network === 'tron' ? verifyTronProvider(provider, settings) : verifyProvider(provider, settings);
}

async function headOf(provider: RpcProvider, network: NetworkSettings['network']): Promise<number> {
  if (network === 'tron') return (await newestBlock(provider, 'wallet')).number;
  if (network === 'solana') return Number(await provider.call('getSlot', []));
  return Number(await provider.call('eth_blockNumber', []));
}

async function historyFault(pool: ReturnType<typeof createRpcPool>, head: number, settings: NetworkSettings): Promise<Finding | null> {
  const block = `0x${Math.max(0, head - HISTORY_BLOCKS).toString(16)}`;
  const filter = { address: settings.tokens.map(({ address }) => address), fromBlock: block, toBlock: block };
  try {
    await pool.run((provider) => provider.call('eth_getLogs', [filter]));
    return null;
  } catch (error) {
    const name = `provider:${settings.mode}:${settings.network}`;
    return warning(name, `has no logs ${HISTORY_BLOCKS} blocks back: ${messageOf(error)}`, 'name one that has: after an outage they are read again');
  }
}

function agreement({ mode, network }: NetworkSettings, heads: readonly { readonly name: string; readonly head: number }[]): Finding[] {
  if (heads.length < 2) return [];
  const best = Math.max(...heads.map(({ head }) => head));
  const behind = heads.filter(({ head }) => best - head > MOST_APART[network]);
  return behind.length === 0
    ? [ok(`agreement:${mode}:${network}`, `${heads.length} providers are at the same block`)]
    : behind.map(({ name, head }) => warning(name, `is ${best - head} blocks behind the others`, 'replace it, if it stays behind'));
}

async function rateFindings(config: Config, check: ClockCheck): Promise<Finding[]> {
  const { RATE_PROVIDERS: providers = [], RATE_STATIC: staticText, RATE_MAX_AGE_SECONDS: maxAgeSec } = config;
  if (providers.length === 0) return [];
  const urls = { coinbase: config.RATE_COINBASE_URL, kraken: config.RATE_KRAKEN_URL, coingecko: config.RATE_COINGECKO_URL };
  const rates = createRates({ providers, staticText, urls, maxAgeSec }, systemClock, undefined, check.heard);
  try {
    // Waits for the first answers, within bounds.
    await rates.lock('USD', 'USDT', systemClock.nowMs());
    const status = rates.status();
    const down = status.filter(({ ageMs }) => ageMs === null);
    const action = 'check that the host may reach it over https; orders in coins work without';
    if (down.length === status.length)
      return [fault('rates', `no market answers: ${down.map(({ provider, lastError }) => `${provider} ${lastError}`).join('; ')}`, action)];
    return [
      ok('rates', `${status.length - down.length} of ${status.length} markets answer`),
      ...down.map(({ provider, lastError }) => warning('rates', `${provider} ${lastError ?? 'did not answer'}`, action)),
    ];
  } finally {
    await rates.close();
  }
}

function clockFinding(check: ClockCheck): Finding {
  const { isInDoubt, offsetMs, witnesses } = check.verdict();
  if (witnesses.length === 0) return skipped('clock', 'nobody answered whose clock could be compared');
  const seconds = (offsetMs ?? 0) / 1000;
  const apart = `${Math.abs(seconds).toFixed(1)} s ${seconds < 0 ? 'behind' : 'ahead of'} ${witnesses.length} of the servers asked`;
  return isInDoubt ? fault('clock', apart, 'let a time service set it (chrony, systemd-timesyncd)') : ok('clock', apart);
}
