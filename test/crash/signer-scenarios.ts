import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OutgoingTransaction } from '../../src/ports/outgoing/transaction.ts';
import type { SigningRequest } from '../../src/ports/outgoing/signer.ts';
import type { PayoutLimits, PayoutRules } from '../../src/ports/signer/protocol.ts';
import { Outgoing } from '../../src/signer/outgoing.ts';
import { Wallet } from '../../src/signer/keys/wallet.ts';
import { bookedIn } from '../support/booked-refunds.ts';
import { outgoing } from '../support/outgoing.ts';
import { evmNodeWithDeposit, type StubNode } from './stub-evm-node.ts';

/*
 * What must hold in the signer whatever happens around it. Run as a program it prints the names of the rules that were
 * broken.
 */

const MNEMONIC = 'test test test test test test test test test test test junk';
const HOUR_MS = 3_600_000;
const START_MS = 1_800_000_000_000;

/** A signer on a deposit of 100 USDT; limits: 20 an hour, 1,000 a day unless told otherwise. */
export async function withSigner(
  run: (
    open: (nowMs: () => number) => Outgoing,
    order: OutgoingTransaction,
    request: (change?: Partial<OutgoingTransaction>, more?: Partial<SigningRequest>, nonce?: number) => SigningRequest,
  ) => Promise<boolean>,
  change: {
    readonly limits?: Partial<PayoutLimits>;
    readonly payoutsPerHour?: number;
    readonly approvers?: PayoutRules['approvers'];
    readonly onAsked?: (inFlight: number) => void;
  } = {},
): Promise<boolean> {
  const directory = mkdtempSync(join(tmpdir(), 'signer-rules-'));
  const wallet = new Wallet(MNEMONIC);
  const toAddress = wallet.collectionAddress('evm', 0);
  const node: StubNode = await evmNodeWithDeposit({
    toAddress,
    units: 100_000_000n,
    ...(change.onAsked && { onAsked: change.onAsked }),
  });
  try {
    const order = outgoing({
      ...{ kind: 'refund', id: 're_1-1', network: 'ethereum', coin: 'USDT', amount: '10.00' },
      ...{ fromAddress: wallet.treasury.evm, toAddress: node.payer },
      deposits: [
        {
          depositKey: `ethereum:${node.txHash}:0`,
          txHash: node.txHash,
          logIndex: 0,
          toAddress,
          derivationIndex: 0,
          amount: '100.00',
        },
      ],
    });
    const limits = { perTransaction: '100', perHour: '20', perDay: '1000', approvalFrom: '1000', ...change.limits };
    const network = {
      mode: 'test',
      network: 'ethereum',
      chainId: '31337',
      tokens: [{ coin: 'USDT', address: node.token, decimals: 6 }],
      urls: [node.url],
    } as const;
    const rules: PayoutRules = {
      journalDirectory: directory,
      networks: [network],
      limits: { USDT: limits },
      payoutsPerHour: change.payoutsPerHour ?? 100,
      approvers: change.approvers ?? [],
    };
    const request = (
      change: Partial<OutgoingTransaction> = {},
      more: Partial<SigningRequest> = {},
      nonce = 0,
    ): SigningRequest => {
      const changed = { ...order, ...change };
      const tokenUnits = String(Math.round(Number(changed.amount) * 1e6));
      const fees = { gasLimit: '90000', maxFeePerGas: '1000', maxPriorityFeePerGas: '1000' };
      return {
        order: changed,
        attempt: 1,
        logPlace: null,
        draft: { kind: 'evm', chainId: '31337', nonce, tokenAddress: node.token, tokenUnits, ...fees },
        ...more,
      };
    };
    return await run((nowMs) => bookedIn(new Outgoing(rules, new Map([['test', wallet]]), nowMs)), order, request);
  } finally {
    await node.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** True when the rule holds. */
const RULES: Readonly<Record<string, () => Promise<boolean>>> = {
  'a clock that is set back frees no cap': () =>
    withSigner(async (open, _, request) => {
      let nowMs = START_MS;
      const signer = open(() => nowMs);
      const first = await signer.sign(request());
      if (!first.ok) throw new Error(first.message);
      nowMs = START_MS + 60_000;
      const second = await signer.sign(request({ id: 're_2-1' }, { logPlace: first.journal }, 1));
      if (!second.ok) throw new Error(second.message);
      nowMs = START_MS - 2 * HOUR_MS;
      const third = await signer.sign(request({ id: 're_3-1' }, { logPlace: second.journal }, 2));
      return !third.ok;
    }),
  'an hour later the hourly cap is free again': () =>
    withSigner(async (open, _, request) => {
      let nowMs = START_MS;
      const signer = open(() => nowMs);
      const first = await signer.sign(request({ amount: '20.00' }));
      if (!first.ok) throw new Error(first.message);
      // The journal's own time runs on while the scenario runs.
      nowMs = START_MS + HOUR_MS + 60_000;
      return (await signer.sign(request({ id: 're_2-1' }, { logPlace: first.journal }, 1))).ok;
    }),
  'a signer that starts anew remembers what it signed': () =>
    withSigner(async (open, _, request) => {
      const first = await open(() => START_MS).sign(request({ amount: '20.00' }));
      if (!first.ok) throw new Error(first.message);
      const again = await open(() => START_MS + 1).sign(request({ id: 're_2-1' }));
      return !again.ok && again.kind === 'stopped';
    }),
};

async function brokenRules(): Promise<string[]> {
  const broken: string[] = [];
  for (const [rule, holds] of Object.entries(RULES)) if (!(await holds())) broken.push(rule);
  return broken;
}

if (process.argv[1] === import.meta.filename) process.stdout.write(`${JSON.stringify(await brokenRules())}\n`);
