import * as spl from '@solana/spl-token';
import { Keypair, PublicKey } from '@solana/web3.js';
import { describe, expect, it } from 'vitest';
import {
  associatedTokenAccount,
  TOKEN_PROGRAM,
  tokenTransfer,
  type TokenTransfer,
} from '../../../src/chain-formats/spl-token.ts';

const address = (): string => Keypair.generate().publicKey.toBase58();

/** The same transfer by Solana's own library. */
function byLibrary({ mint, fromOwner, toOwner, units, decimals, rentPayer }: TokenTransfer) {
  const [token, sender, owner, payer] = [mint, fromOwner, toOwner, rentPayer].map((text) => new PublicKey(text));
  const from = spl.getAssociatedTokenAddressSync(token!, sender!);
  const to = spl.getAssociatedTokenAddressSync(token!, owner!, true);
  return [
    spl.createAssociatedTokenAccountIdempotentInstruction(payer!, to, owner!, token!),
    spl.createTransferCheckedInstruction(from, token!, to, sender!, units, decimals),
  ];
}

describe('a token transfer on Solana', () => {
  it.each([0n, 1n, 255n, 256n, 10_010_000n, 2n ** 53n + 1n, 2n ** 64n - 1n])(
    'of %s units equals that of the library',
    (units) => {
      const transfer = {
        mint: address(),
        fromOwner: address(),
        toOwner: address(),
        units,
        decimals: 6,
        rentPayer: address(),
      };
      const made = tokenTransfer(transfer);
      const expected = byLibrary(transfer);
      expect(made.map(({ programId }) => programId.toBase58())).toEqual(
        expected.map(({ programId }) => programId.toBase58()),
      );
      expect(made.map(({ data }) => data.toString('hex'))).toEqual(
        expected.map(({ data }) => Buffer.from(data).toString('hex')),
      );
      const accounts = (all: typeof made) =>
        all.map(({ keys }) => keys.map((key) => ({ ...key, pubkey: key.pubkey.toBase58() })));
      expect(accounts(made)).toEqual(accounts(expected));
    },
  );

  it('to an owner without a key goes to its account too', () => {
    const program = PublicKey.findProgramAddressSync(
      [Buffer.from('vault')],
      new PublicKey(TOKEN_PROGRAM),
    )[0].toBase58();
    const transfer = {
      mint: address(),
      fromOwner: address(),
      toOwner: program,
      units: 1n,
      decimals: 6,
      rentPayer: address(),
    };
    expect(tokenTransfer(transfer)[1]!.keys[2]!.pubkey.toBase58()).toBe(
      byLibrary(transfer)[1]!.keys[2]!.pubkey.toBase58(),
    );
    expect(associatedTokenAccount(program, transfer.mint)).toBe(tokenTransfer(transfer)[1]!.keys[2]!.pubkey.toBase58());
  });

  it.each([-1n, 2n ** 64n])('of %s units is refused', (units) => {
    expect(() =>
      tokenTransfer({
        mint: address(),
        fromOwner: address(),
        toOwner: address(),
        units,
        decimals: 6,
        rentPayer: address(),
      }),
    ).toThrow(RangeError);
  });
});
