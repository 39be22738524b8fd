import { id, Transaction } from 'ethers';
import type { TokenDraft } from '../../../src/domain/events/transaction-draft.ts';
import {
  deposits,
  MODEL_WALLET,
  receiverIn,
  serveTwo,
  type Landed,
  type ModelChain,
  type Paid,
} from './model-chain.ts';

const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3';
const BLOCK = { number: '0x64', hash: `0x${'cd'.repeat(32)}` };
const topicOf = (address: string): string => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;

/** Ethereum: one transaction for each number of the account, in order. */
export async function modelEvm(): Promise<ModelChain> {
  const paid = deposits('ethereum', 'evm', (index) => `0x${String(index + 1).repeat(64)}`);
  const landed: Landed[] = [];
  const receipts = new Map<string, object>();
  const pool: { readonly transaction: Transaction; readonly signedBytes: string }[] = [];
  let nonce = 0;
  const show = ({ proof, payer, units }: Paid): unknown =>
    receipts.set(proof.txHash, {
      ...{ transactionHash: proof.txHash, status: '0x1', blockNumber: BLOCK.number, blockHash: BLOCK.hash },
      logs: [
        {
          ...{
            address: TOKEN,
            logIndex: `0x${proof.logIndex.toString(16)}`,
            data: `0x${units.toString(16).padStart(64, '0')}`,
          },
          topics: [id('Transfer(address,address,uint256)'), topicOf(payer), topicOf(proof.toAddress)],
        },
      ],
    });
  paid.forEach(show);
  const include = ({ transaction, signedBytes }: (typeof pool)[number]): void => {
    nonce += 1;
    const status = chain.failsNext ? '0x0' : '0x1';
    chain.failsNext = false;
    receipts.set(transaction.hash!, {
      transactionHash: transaction.hash,
      status,
      blockNumber: BLOCK.number,
      blockHash: BLOCK.hash,
      logs: [],
    });
    if (status === '0x0' || transaction.to !== TOKEN) return;
    const toAddress = receiverIn(chain, (address) => topicOf(address).slice(2) === transaction.data.slice(10, 74));
    landed.push({ toAddress, units: BigInt(`0x${transaction.data.slice(74)}`), signedBytes });
  };
  const server = await serveTwo(
    (_, { id: call, method, params }: { id: number; method: string; params: string[] }, provider) => {
      if (provider === 1 && chain.second === 'silent') return null;
      const known = chain.second === 'without history' ? undefined : receipts.get(params[0]!.toLowerCase());
      const result = method === 'eth_getTransactionReceipt' ? (known ?? null) : BLOCK;
      return { jsonrpc: '2.0', id: call, result };
    },
  );
  const chain: ModelChain = {
    network: 'ethereum',
    chainId: '31337',
    token: TOKEN,
    paid,
    others: [],
    landed,
    failsNext: false,
    second: 'sound',
    urls: server.urls,
    draft: (tokenUnits, pick, sequence) => ({
      ...{ kind: 'evm', chainId: '31337', nonce: sequence, tokenAddress: TOKEN, tokenUnits: String(tokenUnits) },
      ...{ gasLimit: '90000', maxFeePerGas: String(1_000 + pick), maxPriorityFeePerGas: '1000' },
    }),
    lie: (tokenUnits, pick) =>
      ({ ...chain.draft(tokenUnits, pick, pick % 5), chainId: pick % 3 === 0 ? '1' : '31337' }) as TokenDraft,
    submit: (signedBytes) => {
      const transaction = Transaction.from(signedBytes);
      if (transaction.chainId !== 31337n || transaction.from !== MODEL_WALLET.treasury.evm) return;
      pool.push({ transaction, signedBytes });
      for (let next; (next = pool.find((waiting) => waiting.transaction.nonce === nonce));) include(next);
    },
    show,
    hide: ({ proof }) => void receipts.delete(proof.txHash),
    advance: () => undefined,
    close: () => server.close(),
  };
  return chain;
}
