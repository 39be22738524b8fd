import { fromTokenUnits } from '../../domain/money/money.ts';
import { NATIVE_COIN, type NetworkSettings } from '../../domain/networks/networks.ts';
import type { SeenInflow, SoughtInflows, StrangersAmong } from '../../ports/outgoing/chain.ts';
import { accountOf, toBase58Address } from './address.ts';
import { listedBlocks, type ListedBlock, type On } from './listed-blocks.ts';
import { SUN } from './outgoing-fate.ts';
import { tokenAccounts } from './receipt.ts';
import { scanBlocks } from './scan.ts';
import { must } from '../../domain/values/must.ts';

/** Two hours of blocks. */
const MOST_BLOCKS = 2_400;
const AT_A_TIME = 4;

/**
 * Incoming transfers from others: our tokens by the receipts of every block, as for deposits, and TRX by the
 * transactions that blocks list. TRX from within a contract shows only in the balance.
 */
export async function tronInflows(
  on: On,
  settings: NetworkSettings,
  address: string,
  sought: SoughtInflows,
  strangersAmong: StrangersAmong,
): Promise<SeenInflow[]> {
  if (sought.toBlock - sought.fromBlock >= MOST_BLOCKS) return [];
  const native = NATIVE_COIN[settings.network];
  const found: SeenInflow[] = [];
  if (sought.coins.some((coin) => coin !== native)) found.push(...(await tokenInflows(on, settings, address, sought)));
  if (sought.coins.includes(native))
    for await (const blocks of listedBlocks(on, sought))
      found.push(...paidTo(address, blocks).map((inflow) => ({ ...inflow, coin: native })));
  if (found.length === 0) return [];
  const strangers = await strangersAmong(found.map(({ txHash }) => txHash));
  return found.filter(({ txHash }) => strangers.has(txHash));
}

async function tokenInflows(
  on: On,
  settings: NetworkSettings,
  address: string,
  { fromBlock, toBlock }: SoughtInflows,
): Promise<SeenInflow[]> {
  const isOurs = (to: string): boolean => to === address;
  const range = { fromBlock, toBlock, isOurs, concurrency: AT_A_TIME, compareWithBlocks: false };
  const { transfers } = await on((provider) => scanBlocks(provider, tokenAccounts(settings.tokens), range));
  return transfers.flatMap(({ tokenAddress, fromAddress, tokenUnits, txHash, logIndex, block }): SeenInflow[] => {
    if (fromAddress === address) return [];
    const { coin, decimals } = must(settings.tokens.find((token) => token.address === tokenAddress));
    return [
      { coin, units: fromTokenUnits(tokenUnits, decimals), fromAddress, txHash, logIndex, blockNumber: block.number },
    ];
  });
}

/** Plain transfers of TRX, which always succeed when a block lists them. */
function paidTo(address: string, blocks: readonly ListedBlock[]): Omit<SeenInflow, 'coin'>[] {
  return blocks.flatMap(({ number, transactions }) =>
    transactions.flatMap(({ txID, ret, raw_data: raw }) => {
      const contract = raw?.contract?.[0];
      const { to_address: to = '', owner_address: from = '', amount = 0 } = contract?.parameter?.value ?? {};
      const sender = accountOf(from);
      if (contract?.type !== 'TransferContract' || accountOf(to) !== accountOf(address)) return [];
      if (sender === null || sender === accountOf(address) || amount <= 0 || ret?.[0]?.contractRet !== 'SUCCESS')
        return [];
      return [
        {
          units: BigInt(amount) * SUN,
          fromAddress: toBase58Address(sender),
          txHash: txID,
          logIndex: null,
          blockNumber: number,
        },
      ];
    }),
  );
}
