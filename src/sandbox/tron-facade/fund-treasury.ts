import { SigningKey } from 'ethers';
import type { FacadeChain } from './chain.ts';
import { payerAddress } from './genesis.ts';
import { addressHexOf, evmAddressOf, tronAddressOf } from './tron-codec.ts';
import { encodeRaw, transactionId } from './tron-transaction.ts';
import { must } from '../../domain/values/must.ts';

const TREASURY_SUN = 100_000_000_000n;
/** Base units of each coin: more than any refund of a test can use. */
const TREASURY_TOKEN_UNITS = 10n ** 13n;
const LIFETIME_MS = 60_000;

const word = (value: bigint): string => value.toString(16).padStart(64, '0');

/** Tops up the account with minted tokens and TRX. */
export async function fundTreasury(chain: FacadeChain, address: string, payerKey: string): Promise<void> {
  const account = addressHexOf(address);
  if (account === null) throw new Error(`${address} is no TRON address`);
  const holder = evmAddressOf(account).slice(2).padStart(64, '0');
  for (const token of Object.values(chain.contracts.tokens)) {
    const to = evmAddressOf(token);
    const held = BigInt(
      `0x${(await chain.evm.outputOf({ from: evmAddressOf(account), to, data: `0x70a08231${holder}` })).replace(/^0x/, '') || '0'}`,
    );
    if (held < TREASURY_TOKEN_UNITS / 2n) await chain.issue(to, `0x40c10f19${holder}${word(TREASURY_TOKEN_UNITS)}`);
  }
  if ((await chain.evm.balanceOf(evmAddressOf(account))) < TREASURY_SUN / 2n) await sendTrx(chain, account, payerKey);
}

async function sendTrx(chain: FacadeChain, to: string, payerKey: string): Promise<void> {
  const head = must(chain.block(chain.clock.head()));
  const rawHex = encodeRaw({
    refBlockBytes: head.id.slice(12, 16),
    refBlockHash: head.id.slice(16, 32),
    expirationMs: head.timeMs + LIFETIME_MS,
    timestampMs: head.timeMs,
    feeLimitSun: 0n,
    note: '',
    contract: { type: 'TransferContract', owner: tronAddressOf(payerAddress(payerKey)), to, amountSun: TREASURY_SUN },
  });
  const signature = new SigningKey(`0x${payerKey}`).sign(`0x${transactionId(rawHex)}`).serialized.slice(2);
  const answer = await chain.broadcast(rawHex, [signature]);
  if (answer.code !== 'SUCCESS') throw new Error(`the treasury got no TRX: ${answer.code}`);
}
