import type { PayerTransactions, WantedTransfer } from '../../ports/chain/payer-transactions.ts';
import { ProviderFault, type RpcPool, type RpcProvider } from '../../ports/chain/rpc-pool.ts';
import { fromBase58 } from '../../chain-formats/base58.ts';
import { tokenTransfer } from '../../chain-formats/spl-token.ts';
import { latestBlockhash } from './rpc.ts';
import { must } from '../../domain/values/must.ts';

const KEY_BYTES = 32;
/** A blockhash is valid for about a minute; it is shared by all requests within this time. */
const FRESH_MS = 3_000;

/** Transfers for a payer to sign, who also pays fee and rent. */
export class SolanaPayerTransactions implements PayerTransactions {
  readonly #pool: RpcPool;
  #blockhash: Promise<string> | null = null;
  #askedAtMs = -Infinity;

  constructor(pool: RpcPool) {
    this.#pool = pool;
  }

  async unsignedTransfer(transfer: WantedTransfer): Promise<Uint8Array | null> {
    if (transfer.payer.length > 44 || fromBase58(transfer.payer)?.length !== KEY_BYTES) return null;
    const blockhash = await this.#recentBlockhash();
    return compose(transfer, blockhash);
  }

  #recentBlockhash(): Promise<string> {
    if (this.#blockhash && performance.now() - this.#askedAtMs < FRESH_MS) return this.#blockhash;
    this.#askedAtMs = performance.now();
    this.#blockhash = this.#pool.run(checkedBlockhash).then(({ value }) => value);
    this.#blockhash.catch(() => (this.#blockhash = null));
    return this.#blockhash;
  }
}

async function checkedBlockhash(provider: RpcProvider): Promise<string> {
  const blockhash = await latestBlockhash(provider, 'finalized');
  if (fromBase58(blockhash)?.length !== KEY_BYTES) throw new ProviderFault('inconsistent', 'answered no blockhash');
  return blockhash;
}

/** Creates the owner's account if it is missing. The reference is added as a key that nobody signs for (Solana Pay). */
async function compose(
  { payer, owner, tokenAddress, tokenUnits, decimals, reference }: WantedTransfer,
  blockhash: string,
): Promise<Uint8Array> {
  const web3 = await import('@solana/web3.js');
  const [make, move] = tokenTransfer({
    mint: tokenAddress,
    fromOwner: payer,
    toOwner: owner,
    units: tokenUnits,
    decimals,
    rentPayer: payer,
  });
  if (reference !== undefined)
    must(move).keys.push({ pubkey: new web3.PublicKey(reference), isSigner: false, isWritable: false });
  const transaction = new web3.Transaction();
  transaction.feePayer = new web3.PublicKey(payer);
  transaction.recentBlockhash = blockhash;
  transaction.add(must(make), must(move));
  return transaction.serialize({ requireAllSignatures: false, verifySignatures: false });
}
