import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DepositProof } from '../../../src/domain/networks/deposit-proof.ts';
import type { TokenDraft } from '../../../src/domain/events/transaction-draft.ts';
import type { AddressFamily, Network } from '../../../src/domain/networks/networks.ts';
import { Wallet } from '../../../src/signer/keys/wallet.ts';

/*
 * Chains that keep the few rules on which it depends what can land beside what. Bytes are judged by these rules and not
 * by ours.
 */

export interface Landed {
  readonly toAddress: string;
  /** Base units of a token with six decimals. */
  readonly units: bigint;
  /** What it was included as. */
  readonly signedBytes: string;
}

/** A transfer of a payer to one of our addresses. */
export interface Paid {
  readonly payer: string;
  /** Who was given the paying account in the same transaction, and signed nothing. */
  readonly handedTo?: string;
  readonly units: bigint;
  readonly proof: DepositProof;
}

/**
 * How the second of two providers behaves; the first one is up to date. `without history`: both answer by hash that they
 * know no transaction, as pruned nodes do.
 */
export const SECOND_PROVIDER = ['sound', 'silent', 'behind', 'without history'] as const;
type SecondProvider = (typeof SECOND_PROVIDER)[number];

export interface ModelChain {
  readonly network: Network;
  readonly chainId: string;
  readonly token: string;
  readonly urls: readonly string[];
  readonly paid: readonly Paid[];
  /** Whom, beside payers, a transfer that landed is told to have gone to by name. */
  readonly others: string[];
  readonly landed: readonly Landed[];
  /** Whether the next transaction that is included fails. */
  failsNext: boolean;
  second: SecondProvider;
  /** A transfer as an honest worker draws up its payout of this number, at another price for each `pick`. */
  draft(tokenUnits: bigint, pick: number, sequence: number): TokenDraft;
  /** One that names, out of everything that a liar could name, what `pick` says. */
  lie(tokenUnits: bigint, pick: number): TokenDraft;
  /** Whoever holds the bytes hands them in: the chain takes them or not. */
  submit(signedBytes: string): void;
  /** A transfer that anybody made is in the chain. */
  show(transfer: Paid): void;
  /** A reorganisation takes it out of the chain. */
  hide(transfer: Paid): void;
  /** Blocks come; `pick` says how many. */
  advance(pick: number): void;
  close(): Promise<void>;
}

export const MODEL_WALLET = new Wallet('test test test test test test test test test test test junk');
export const STRANGERS = new Wallet('legal winner thank year wave sausage worth useful legal winner thank yellow');

/** Three deposits of two payers. */
export function deposits(network: Network, family: AddressFamily, nameOf: (index: number) => string): Paid[] {
  const amounts = [60n, 30n, 30n];
  return amounts.map((amount, index) => {
    const [txHash, derivationIndex] = [nameOf(index), index === 2 ? 1 : 0];
    const toAddress = MODEL_WALLET.collectionAddress(family, derivationIndex);
    const proof = { depositKey: `${network}:${txHash}:0`, txHash, logIndex: 0, toAddress, derivationIndex };
    return { payer: STRANGERS.collectionAddress(family, index === 2 ? 1 : 0), units: amount * 1_000_000n, proof };
  });
}

/** To whom the chain moved it, of those that are known to it. */
export const receiverIn = (
  { paid, others }: Pick<ModelChain, 'paid' | 'others'>,
  isReceiver: (address: string) => boolean,
): string => [...paid.map(({ payer }) => payer), ...others].find(isReceiver) ?? 'a stranger';

/** Two providers. `answer` tells what the one of this number says; null to say nothing. */
export async function serveTwo(
  answer: (path: string, body: never, provider: number) => object | null,
): Promise<{ readonly urls: readonly string[]; close(): Promise<void> }> {
  const servers = await Promise.all(
    [0, 1].map(async (provider) => {
      const server = createServer((request, response) => {
        const chunks: Buffer[] = [];
        request.on('data', (chunk: Buffer) => chunks.push(chunk));
        request.on('end', () => {
          const said = answer(request.url!, JSON.parse(Buffer.concat(chunks).toString()) as never, provider);
          if (said === null) return response.destroy();
          response.end(JSON.stringify(said));
        });
      });
      await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
      return server;
    }),
  );
  return {
    urls: servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    close: async () => {
      for (const server of servers) {
        server.closeAllConnections();
        await new Promise((done) => server.close(done));
      }
    },
  };
}
