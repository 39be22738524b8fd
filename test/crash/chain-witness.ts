import { id } from 'ethers';
import { accountOf } from '../../src/adapters/tron/tron-address.ts';

/* Looks at the chain itself, with code that shares nothing with the payouts: how often did a payer get this amount? */

const TRANSFER = id('Transfer(address,address,uint256)');

export interface Question {
  readonly network: string;
  readonly rpcUrl: string;
  readonly token: string;
  readonly from: string;
  readonly to: string;
  readonly tokenUnits: bigint;
}

/** Transaction ids of every transfer from the treasury to the payer with exactly this amount. */
export function transfersSeen(question: Question): Promise<string[]> {
  return question.network === 'tron' ? tronTransfers(question) : question.network === 'solana' ? solanaTransfers(question) : evmTransfers(question);
}

async function post<Answer>(url: string, body: unknown): Promise<Answer> {
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  return (await answer.json()) as Answer;
}

async function evmTransfers({ rpcUrl, token, from, to, tokenUnits }: Question): Promise<string[]> {
  const topic = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;
  const filter = { address: token, topics: [TRANSFER, topic(from), topic(to)], fromBlock: '0x0', toBlock: 'latest' };
  const { result } = await post<{ result: { data: string; transactionHash: string }[] }>(rpcUrl, {
    jsonrpc: '2.0',
    id: 1,
    method: 'eth_getLogs',
    params: [filter],
  });
  return result.filter(({ data }) => BigInt(data) === tokenUnits).map(({ transactionHash }) => transactionHash);
}

interface TronBlockRange {
  readonly block?: readonly { readonly transactions?: readonly { readonly txID: string }[] }[];
}
interface TronInfo {
  readonly receipt?: { readonly result?: string };
  readonly log?: readonly { readonly address: string; readonly topics: readonly string[]; readonly data: string }[];
}

async function tronTransfers({ rpcUrl, token, from, to, tokenUnits }: Question): Promise<string[]> {
  const head = await post<{ block_header: { raw_data: { number?: number } } }>(`${rpcUrl}/wallet/getnowblock`, {});
  const last = head.block_header.raw_data.number ?? 0;
  const found: string[] = [];
  for (let start = 0; start <= last; start += 100) {
    const { block = [] } = await post<TronBlockRange>(`${rpcUrl}/wallet/getblockbylimitnext`, {
      startNum: start,
      endNum: Math.min(last + 1, start + 100),
    });
    for (const { txID } of block.flatMap(({ transactions = [] }) => transactions)) {
      const info = await post<TronInfo>(`${rpcUrl}/wallet/gettransactioninfobyid`, { value: txID });
      const moved = (info.log ?? []).some(
        ({ address, topics, data }) =>
          accountOf(address) === accountOf(token) &&
          topics[1]?.slice(24) === accountOf(from) &&
          topics[2]?.slice(24) === accountOf(to) &&
          BigInt(`0x${data}`) === tokenUnits,
      );
      if (moved && info.receipt?.result === 'SUCCESS') found.push(txID);
    }
  }
  return found;
}

interface ParsedTransaction {
  readonly meta: { readonly err: unknown; readonly preTokenBalances: readonly TokenBalance[]; readonly postTokenBalances: readonly TokenBalance[] };
}
interface TokenBalance {
  readonly owner: string;
  readonly mint: string;
  readonly uiTokenAmount: { readonly amount: string };
}

async function solanaTransfers({ rpcUrl, token, from, to, tokenUnits }: Question): Promise<string[]> {
  const rpc = async <Result>(method: string, params: unknown[]): Promise<Result> =>
    (await post<{ result: Result }>(rpcUrl, { jsonrpc: '2.0', id: 1, method, params })).result;
  const signatures = await rpc<{ signature: string }[]>('getSignaturesForAddress', [from, { limit: 1000 }]);
  const found: string[] = [];
  for (const { signature } of signatures) {
    const transaction = await rpc<ParsedTransaction | null>('getTransaction', [
      signature,
      { encoding: 'jsonParsed', maxSupportedTransactionVersion: 0 },
    ]);
    if (!transaction || transaction.meta.err) continue;
    const held = (balances: readonly TokenBalance[]): bigint =>
      balances.filter(({ owner, mint }) => owner === to && mint === token).reduce((sum, { uiTokenAmount }) => sum + BigInt(uiTokenAmount.amount), 0n);
    if (held(transaction.meta.postTokenBalances) - held(transaction.meta.preTokenBalances) === tokenUnits) found.push(signature);
  }
  return found;
}
