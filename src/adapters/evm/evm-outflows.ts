import { fromTokenUnits } from '../../domain/money.ts';
import type { NetworkSettings } from '../../domain/networks.ts';
import type { SeenOutflow } from '../../ports/moves.ts';
import type { RpcProvider } from '../../ports/rpc-pool.ts';
import { getAddress } from 'ethers';
import { TRANSFER_TOPIC } from './transfer-log.ts';

/** Providers cut wider ranges off. */
const RANGE = 2_000;

interface FoundLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly transactionHash: string;
  readonly logIndex: string;
  readonly blockNumber: string;
}

/** Every transfer of our tokens out of an address, both blocks included. */
export async function outflowsAt(
  provider: RpcProvider,
  settings: NetworkSettings,
  address: string,
  fromBlock: number,
  toBlock: number,
): Promise<SeenOutflow[]> {
  const found: SeenOutflow[] = [];
  const from = `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
  for (let first = Math.max(0, fromBlock); first <= toBlock; first += RANGE) {
    const range = { fromBlock: hex(first), toBlock: hex(Math.min(toBlock, first + RANGE - 1)) };
    const filter = { ...range, address: settings.tokens.map((token) => token.address), topics: [TRANSFER_TOPIC, from] };
    for (const log of (await provider.call('eth_getLogs', [filter])) as readonly FoundLog[]) {
      const token = settings.tokens.find((candidate) => candidate.address.toLowerCase() === log.address.toLowerCase());
      if (!token || log.topics.length !== 3) continue;
      found.push({
        coin: token.coin,
        units: fromTokenUnits(BigInt(log.data), token.decimals),
        toAddress: getAddress(`0x${log.topics[2]!.slice(26)}`),
        txHash: log.transactionHash.toLowerCase(),
        logIndex: Number(log.logIndex),
        blockNumber: Number(log.blockNumber),
      });
    }
  }
  return found;
}

const hex = (number: number): string => `0x${number.toString(16)}`;
