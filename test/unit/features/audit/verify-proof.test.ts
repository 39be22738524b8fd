import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { canonicalText } from '../../../../src/domain/events/canonical-text.ts';
import { verifyProof } from '../../../../src/features/audit/verify-proof.ts';
import { parseAuditLine } from '../../../../src/features/audit/lines.ts';
import { parseVerifierKey } from '../../../../src/runtime/merkle/checkpoint-note.ts';
import { leafHash, nodeHash, inclusionProof } from '../../../../src/runtime/merkle/tree.ts';
import { MerkleFrontier } from '../../../../src/runtime/merkle/frontier.ts';
import { presentProof } from '../../../../src/http/presenters/audit.presenter.ts';
import type { SessionProof } from '../../../../src/features/audit/records.ts';
import { SESSION_ID } from '../../../support/session-facts.ts';
import { signedExport } from '../../../support/signed-export.ts';
import { paidOrder, recorded } from '../../../support/settlement-log.ts';
import { temporaryFolder } from '../../../support/temporary-folder.ts';

/* A proof is held against both verifiers: what one refuses, the other refuses. */

const folder = temporaryFolder('proof');

const events = recorded([...paidOrder(1).slice(0, 2), ...paidOrder(0), ...paidOrder(1).slice(2)]);
const { checkpoint, verifierKey } = signedExport(events);
const leaves = events.map((event) => leafHash(Buffer.from(event.hash, 'hex')));

function rootOf(from: number, to: number): Buffer {
  const tree = new MerkleFrontier();
  for (const leaf of leaves.slice(from, to)) tree.append(leaf);
  return tree.root();
}

function proofOf(isWhole: boolean, types?: readonly string[]) {
  const own = events.flatMap((event, leafIndex) =>
    event.stream === `session-${SESSION_ID}` && (types?.includes(event.type) ?? true)
      ? [
          {
            ...{ type: event.type, revision: event.revision, leafIndex, text: canonicalText(event), hash: event.hash },
            inclusionProof: inclusionProof(leafIndex, events.length, rootOf).map((node) => node.toString('base64')),
          },
        ]
      : [],
  );
  const record = { origin: '', size: events.length, rootHash: '', checkpoint, createdSec: 0 };
  const proof: SessionProof = { isWhole, checkpoint: record, events: own, pendingEvents: 0 };
  return presentProof(SESSION_ID, proof, verifierKey);
}

type Proof = ReturnType<typeof proofOf>;

/** What either verifier says, in one word and a sentence. */
function judged(proof: unknown): { readonly ok: boolean; readonly said: string } {
  const report = verifyProof(proof, parseVerifierKey(verifierKey)!);
  const file = join(folder, 'proof.json');
  writeFileSync(file, JSON.stringify(proof));
  const python = spawnSync('python3', ['docs/verify/verify.py', '--proof', file, '--key', verifierKey], {
    encoding: 'utf8',
  });
  expect(
    ['ok:', 'NOT'].some((word) => python.stdout.startsWith(word)),
    python.stdout + python.stderr,
  ).toBe(true);
  const ok = python.status === 0;
  expect({ by: 'both', ok: report.ok }).toEqual({ by: 'both', ok });
  if (!ok) expect(python.stdout).toContain(report.fault);
  return { ok, said: report.fault ?? python.stdout };
}

const without = (proof: Proof, place: number): Proof => ({
  ...proof,
  events: proof.events.filter((_, index) => index !== place),
});
const changed = (proof: Proof, place: number, change: object): Proof => ({
  ...proof,
  events: proof.events.map((event, index) => (index === place ? { ...event, ...change } : event)),
});

describe('a proof of a whole session', () => {
  const proof = proofOf(true);

  it('holds, and says up to which revision it is complete', () => {
    expect(proof.proves).toEqual({ kind: 'stream', events: 4, through_revision: 3 });
    expect(judged(proof)).toMatchObject({
      ok: true,
      said: expect.stringContaining('every event up to revision 3') as string,
    });
    expect(verifyProof(proof, parseVerifierKey(verifierKey)!)).toMatchObject({
      events: 4,
      complete_through_revision: 3,
    });
  });

  it.each<[string, unknown, RegExp]>([
    ['an empty list', { ...proof, events: [] }, /not a proof, or no checkpoint/],
    ['no checkpoint', { ...proof, checkpoint: null }, /not a proof, or no checkpoint/],
    ['the first event removed', without(proof, 0), /does not follow revision -1/],
    ['one in the middle removed', without(proof, 2), /does not follow revision 1/],
    [
      'one in the middle removed, with the count made to fit',
      { ...without(proof, 1), proves: { ...proof.proves, events: 3 } },
      /does not follow/,
    ],
    ['the last one removed', without(proof, 3), /holds 3 events and says that it proves 4/],
    [
      'an event doubled',
      { ...proof, events: [...proof.events.slice(0, 2), proof.events[1], ...proof.events.slice(2)] },
      /doubled/,
    ],
    ['the last one doubled', { ...proof, events: [...proof.events, proof.events[3]] }, /doubled/],
    ['events in another order', { ...proof, events: proof.events.toReversed() }, /does not follow|doubled/],
    ['another type beside the text', changed(proof, 3, { type: 'SessionExpired' }), /not what is said of it/],
    ['another hash beside the text', changed(proof, 3, { hash: 'a'.repeat(64) }), /not what is said of it/],
    ['another revision beside the text', changed(proof, 3, { revision: 4 }), /not what is said of it/],
    [
      'another text',
      changed(proof, 3, { text: proof.events[3]!.text.replace('10.00', '11.00') }),
      /not what is said of it/,
    ],
    [
      'a text with its own hash',
      changed(proof, 3, forged(proof.events[3]!.text)),
      /not what the checkpoint of 8 events holds there/,
    ],
    ['another place', changed(proof, 3, { leaf_index: 6 }), /not what the checkpoint/],
    ['a place beyond the tree', changed(proof, 3, { leaf_index: 8 }), /not what the checkpoint/],
    ['another session', { ...proof, session_id: `cs_${'b'.repeat(32)}` }, /is not of cs_b/],
  ])('with %s is refused', (_, given, why) => {
    expect(judged(given)).toMatchObject({ ok: false, said: expect.stringMatching(why) as string });
  });
});

describe('a proof of some events', () => {
  const proof = proofOf(false, ['SessionCreated', 'SessionPaid']);

  it('holds, and claims nothing about others', () => {
    expect(proof.proves).toEqual({ kind: 'inclusion', events: 2 });
    expect(judged(proof)).toMatchObject({ ok: true, said: expect.stringContaining('no claim about others') as string });
    expect(verifyProof(proof, parseVerifierKey(verifierKey)!)).toMatchObject({ complete_through_revision: null });
  });

  it('is refused when it says that it is the whole session, or has fewer or more than it says', () => {
    const whole = { ...proof, proves: { kind: 'stream', events: 2, through_revision: 3 } };
    for (const given of [whole, without(proof, 1), { ...proof, events: [...proof.events, proof.events[1]] }])
      expect(judged(given).ok).toBe(false);
  });
});

function forged(text: string): { text: string; hash: string } {
  const other = text.replace('10.00', '11.00');
  return { text: other, hash: hash('sha256', other, 'hex') };
}

describe('the test vectors of docs/audit.md', () => {
  const blocks = [...readFileSync('docs/audit.md', 'utf8').matchAll(/^```json vectors\n(.*?)^```$/gms)].map(
    ([, text]) => JSON.parse(text!) as Vectors,
  );

  it('are what the service computes: event, hash, leaf, root, checkpoint', () => {
    const [vectors] = blocks;
    expect(vectors!.events.length).toBe(3);
    const tree = new MerkleFrontier();
    for (const [index, { line, canonical_text, hash: digest, leaf, root }] of vectors!.events.entries()) {
      const event = parseAuditLine(JSON.stringify(line));
      if (typeof event === 'string') throw new Error(event);
      expect(canonicalText(event)).toBe(canonical_text);
      expect(event.hash).toBe(digest);
      expect(hash('sha256', canonical_text, 'hex')).toBe(digest);
      tree.append(leafHash(Buffer.from(digest, 'hex')));
      expect(leafHash(Buffer.from(digest, 'hex')).toString('hex')).toBe(leaf);
      expect([index, tree.root().toString('hex')]).toEqual([index, root]);
    }
    const [one, two, three] = vectors!.events.map(({ leaf }) => Buffer.from(leaf, 'hex'));
    expect(nodeHash(nodeHash(one!, two!), three!).toString('hex')).toBe(vectors!.events[2]!.root);
    const file = join(folder, 'vectors.jsonl');
    writeFileSync(file, vectors!.events.map(({ line }) => `${JSON.stringify(line)}\n`).join(''));
    writeFileSync(join(folder, 'checkpoint'), vectors!.checkpoint);
    const args = [
      'docs/verify/verify.py',
      '--export',
      file,
      '--checkpoint',
      join(folder, 'checkpoint'),
      '--key',
      vectors!.key,
    ];
    expect(spawnSync('python3', args, { encoding: 'utf8' }).stdout).toContain(
      'ok: 3 events in 2 streams, 1 checkpoints hold',
    );
  });
});

interface Vectors {
  readonly key: string;
  readonly checkpoint: string;
  readonly events: readonly { line: object; canonical_text: string; hash: string; leaf: string; root: string }[];
}
