import { createPublicKey, verify } from 'node:crypto';
import { addressFamilyOf, type Network } from '../domain/networks/networks.ts';
import { fromBase58 } from './base58.ts';

/*
 * Verifies that the key of an address signed a text as wallets do: EIP-191 `personal_sign` on the EVM, TIP-191
 * (`signMessageV2`) on TRON, and on Solana the bytes themselves or the envelope of off-chain messages.
 */

const SECP256K1 = /^0x[0-9a-f]{130}$/;
const ED25519 = /^0x[0-9a-f]{128}$/;
const TRON_PREFIX = '\x19TRON Signed Message:\n';
/** Signing domain, version 0, and the format for limited UTF-8, followed by the length. */
const OFF_CHAIN_HEADER = Buffer.concat([Buffer.of(0xff), Buffer.from('solana offchain'), Buffer.of(0, 1)]);

/** `signature` is hex with `0x`, `address` in the network's own form. False for an invalid signature. */
export async function isSignedByWallet(
  network: Network,
  address: string,
  text: string,
  signature: string,
): Promise<boolean> {
  switch (addressFamilyOf(network)) {
    case 'evm':
      return SECP256K1.test(signature) && (await recovered(text, signature, 'evm')) === address.toLowerCase();
    case 'tron': {
      const account = fromBase58(address)?.subarray(1, 21);
      return (
        SECP256K1.test(signature) &&
        account !== undefined &&
        (await recovered(text, signature, 'tron')) === `0x${Buffer.from(account).toString('hex')}`
      );
    }
    case 'solana':
      return (
        ED25519.test(signature) && isSignedBySolana(address, Buffer.from(text), Buffer.from(signature.slice(2), 'hex'))
      );
  }
}

/** The account in hex; null if the signature is invalid. */
async function recovered(text: string, signature: string, family: 'evm' | 'tron'): Promise<string | null> {
  const { concat, hashMessage, keccak256, recoverAddress, toUtf8Bytes } = await import('ethers');
  const message = toUtf8Bytes(text);
  const digest =
    family === 'evm'
      ? hashMessage(message)
      : keccak256(concat([toUtf8Bytes(`${TRON_PREFIX}${message.length}`), message]));
  try {
    return recoverAddress(digest, signature).toLowerCase();
  } catch {
    return null;
  }
}

function isSignedBySolana(address: string, message: Buffer, signature: Buffer): boolean {
  const bytes = fromBase58(address);
  if (bytes?.length !== 32) return false;
  const length = Buffer.alloc(2);
  length.writeUInt16LE(message.length);
  try {
    const key = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(bytes).toString('base64url') },
      format: 'jwk',
    });
    return [message, Buffer.concat([OFF_CHAIN_HEADER, length, message])].some((signed) =>
      verify(null, signed, key, signature),
    );
  } catch {
    return false;
  }
}
