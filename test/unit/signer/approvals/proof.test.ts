import { describe, expect, it } from 'vitest';
import type { ApproverKey } from '../../../../src/ports/signer/approvals.ts';
import { checkApprovers } from '../../../../src/signer/approvals/proof.ts';
import { approverKey, passkey } from '../../../support/approvers.ts';

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** The same 32 bytes: the last letter holds two bits that mean nothing. */
const otherwise = (key: string): string => `${key.slice(0, -1)}${BASE64URL[BASE64URL.indexOf(key.at(-1)!) + 1]!}`;
const ada = approverKey('ada');
const ben = (publicKey: string): ApproverKey => ({ name: 'ben', kind: 'ed25519', publicKey });
const check = (...keys: ApproverKey[]) => checkApprovers(keys, 'merchant');

describe('one key is one person', () => {
  it('however it is written', () => {
    expect(() => check(ada, ben(ada.publicKey))).toThrow(/ada and ben have the same key/);
    expect(() => check(ada, ben(otherwise(ada.publicKey)))).toThrow(/ada and ben have the same key/);
  });

  it('as a passkey and as a key in a file', () => {
    const { key } = passkey('ada', 'Ed25519');
    const point = Buffer.from(key.publicKey, 'base64url').subarray(-32).toString('base64url');
    expect(() => check(key, ben(point))).toThrow(/ada and ben have the same key/);
  });

  it('under two names of credentials', () => {
    for (const algorithm of ['P-256', 'Ed25519'] as const) {
      const { key } = passkey('ada', algorithm);
      expect(() => check(key, { ...key, name: 'ben', credentialId: 'another-credential-id' })).toThrow(
        /ada and ben have the same key/,
      );
    }
  });

  it('and may hold several keys', () => {
    expect(() =>
      check(ada, passkey('Ada', 'P-256').key, passkey('ada', 'Ed25519').key, approverKey('ben')),
    ).not.toThrow();
    expect(() => check(ada, { ...ada, name: 'ADA' })).not.toThrow();
    const cleo = approverKey('cleo');
    expect(() => check(cleo, { ...cleo, name: 'c1eo' })).not.toThrow();
    expect(() => check({ ...cleo, name: 'rnerchant' })).toThrow(/must not be called merchant/);
  });

  it('whose key must be valid for its kind', () => {
    expect(() => check(ben(ada.publicKey.slice(2)))).toThrow(/not an Ed25519 public key/);
    expect(() => check({ ...passkey('ada', 'P-256').key, publicKey: ada.publicKey })).toThrow(
      /not the public key of a passkey/,
    );
  });
});
