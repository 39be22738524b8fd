import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, sign, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { openApproverKey } from '../../src/key-tools/approver-key.ts';
import type {
  Approval,
  ApprovalAct,
  ApprovalSigner,
  ApprovalProof,
  ApprovalText,
  ApprovalVerdict,
  ApproverKey,
} from '../../src/ports/signer/approvals.ts';
import type { JsonValue } from '../../src/ports/read-model/read-model.ts';

/* People who agree to things in tests; the key of each follows from the name. */

const PKCS8_OF_SEED = Buffer.from('302e020100300506032b657004220420', 'hex');
const keyOf = (name: string): KeyObject =>
  createPrivateKey({
    key: Buffer.concat([PKCS8_OF_SEED, hash('sha256', name, 'buffer')]),
    format: 'der',
    type: 'pkcs8',
  });

export const approverKey = (name: string): ApproverKey => ({
  name,
  kind: 'ed25519',
  publicKey: (createPublicKey(keyOf(name)).export({ format: 'jwk' }) as { x: string }).x,
});

export const signedBy = (name: string, { text, number }: ApprovalText): Approval => ({
  approver: name,
  number,
  proof: { kind: 'ed25519', signature: sign(null, Buffer.from(text), keyOf(name)).toString('base64url') },
});

/** What the signer wants to be signed for an act. */
export async function termsFor(executor: ApprovalSigner, act: ApprovalAct): Promise<ApprovalText> {
  const terms = await executor.approvalTerms(act);
  if (!terms.ok || terms.done) throw new Error(terms.ok ? 'nothing is left to approve' : terms.message);
  return terms;
}

export const approveAt = async (executor: ApprovalSigner, act: ApprovalAct, name: string): Promise<ApprovalVerdict> =>
  executor.approve(act, signedBy(name, await termsFor(executor, act)));

/** The sandbox's own approvers, with the keys and the passphrase that it left beside its data. */
export async function demoApprove(
  dataDir: string,
  command: string,
  args: Readonly<Record<string, JsonValue>>,
): Promise<unknown> {
  const read = (file: string): string => readFileSync(join(dataDir, 'approvers', file), 'utf8');
  let answer: unknown;
  for (const name of ['demo-1', 'demo-2']) {
    const key = openApproverKey(read(`${name}.json`), read('passphrase').trim());
    const asked = (await callAdmin(dataDir, command, args)) as unknown as { readonly to_sign: readonly ApprovalText[] };
    const approvals = asked.to_sign.map(({ text, number }) => ({
      ...{ approver: name, number },
      proof: { kind: 'ed25519', signature: key.sign(text) },
    }));
    answer = await callAdmin(dataDir, command, { ...args, approvals });
  }
  return answer;
}

type Admin = (command: string, args: Readonly<Record<string, JsonValue>>) => Promise<unknown>;

/** The operator's command as an approver runs it: asked for the terms first, then signed. */
export async function approveAs<Answer>(
  admin: Admin,
  name: string,
  command: string,
  args: Readonly<Record<string, JsonValue>>,
): Promise<Answer> {
  const asked = (await admin(command, args)) as { readonly to_sign?: readonly (ApprovalText | null)[] };
  if (!asked.to_sign) return asked as Answer;
  const approvals = asked.to_sign.map((terms) => terms && signedBy(name, terms));
  return (await admin(command, { ...args, approvals: approvals as unknown as JsonValue })) as Answer;
}

const RP = { rpId: 'pay.example', origin: 'https://pay.example' } as const;

/** A passkey as an authenticator holds it. */
export function passkey(name: string, algorithm: 'P-256' | 'Ed25519') {
  const { publicKey, privateKey } =
    algorithm === 'P-256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519');
  const { x, y } = publicKey.export({ format: 'jwk' }) as { x: string; y?: string };
  const bytes = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(text, 'base64url'));
  const cose = new Map<number, number | Uint8Array<ArrayBuffer>>(
    y === undefined
      ? [
          [1, 1],
          [3, -8],
          [-1, 6],
          [-2, bytes(x)],
        ]
      : [
          [1, 2],
          [3, -7],
          [-1, 1],
          [-2, bytes(x)],
          [-3, bytes(y)],
        ],
  );
  const credentialId = hash('sha256', `${name} ${x}`, 'base64url');
  const key: ApproverKey = {
    name,
    kind: 'webauthn',
    credentialId,
    publicKey: Buffer.from(isoCBOR.encode(cose)).toString('base64url'),
    ...RP,
  };
  const assertion = (
    text: string,
    change: { rpId?: string; origin?: string; verified?: boolean; count?: number; type?: string } = {},
  ): ApprovalProof => {
    const { rpId, origin, verified, count, type } = {
      ...RP,
      verified: true,
      count: 0,
      type: 'webauthn.get',
      ...change,
    };
    const clientDataJSON = Buffer.from(
      JSON.stringify({ type, challenge: hash('sha256', text, 'base64url'), origin, crossOrigin: false }),
    );
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(count);
    const authenticatorData = Buffer.concat([
      hash('sha256', rpId, 'buffer'),
      Buffer.from([verified ? 0x05 : 0x01]),
      counter,
    ]);
    const signed = Buffer.concat([authenticatorData, hash('sha256', clientDataJSON, 'buffer')]);
    const signature = sign(y === undefined ? null : 'sha256', signed, privateKey);
    const [clientData, authenticator, proof] = [clientDataJSON, authenticatorData, signature].map((part) =>
      part.toString('base64url'),
    );
    const response = { clientDataJSON: clientData!, authenticatorData: authenticator!, signature: proof! };
    return {
      kind: 'webauthn',
      response: { id: credentialId, rawId: credentialId, type: 'public-key', response, clientExtensionResults: {} },
    };
  };
  return { key, assertion };
}
