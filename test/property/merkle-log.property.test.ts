import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MerkleFrontier } from '../../src/runtime/merkle/frontier.ts';
import { MerkleLog } from '../../src/runtime/merkle/log.ts';
import { leafHash, rootOfLeaves, verifyConsistency, verifyInclusion } from '../../src/runtime/merkle/tree.ts';
import { runsOf } from '../support/runs.ts';

const LARGEST = 70_000;
const all = Buffer.concat(
  Array.from({ length: LARGEST }, (_, index) => leafHash(hash('sha256', String(index), 'buffer'))),
);
const leaves = (from: number, to: number): Buffer => all.subarray(from * 32, to * 32);

function logOf(size: number): MerkleLog {
  const log = new MerkleLog(leaves);
  for (let leaf = 0; leaf < size; leaf += 1) log.append(leaves(leaf, leaf + 1));
  return log;
}

describe('the Merkle log', () => {
  const largest = logOf(LARGEST);
  const sizes = fc.oneof(
    fc.integer({ min: 1, max: 1_200 }),
    fc.constantFrom(255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537, LARGEST),
  );

  it('has at every size the root that the leaves alone give', () => {
    fc.assert(
      fc.property(sizes, (size) => {
        const expected = rootOfLeaves(leaves(0, size));
        expect(largest.rootAt(size)).toEqual(expected);
        if (size > 1_200) return;
        const frontier = new MerkleFrontier();
        for (let leaf = 0; leaf < size; leaf += 1) frontier.append(leaves(leaf, leaf + 1));
        expect(frontier.root()).toEqual(expected);
        expect(logOf(size).rootAt(size)).toEqual(expected);
      }),
      { numRuns: runsOf(25) },
    );
  });

  it('proves every leaf in every later tree, and a changed proof proves nothing', () => {
    fc.assert(
      fc.property(sizes, fc.nat(), fc.nat(), (size, anyLeaf, anyPlace) => {
        const leaf = anyLeaf % size;
        const proof = largest.inclusionProof(leaf, size);
        const root = largest.rootAt(size);
        expect(verifyInclusion(leaf, size, leaves(leaf, leaf + 1), proof, root)).toBe(true);
        if (size === 1) return;
        expect(verifyInclusion((leaf + 1) % size, size, leaves(leaf, leaf + 1), proof, root)).toBe(false);
        const changed = proof.map((node) => Buffer.from(node));
        changed[anyPlace % changed.length]![0]! ^= 1;
        expect(verifyInclusion(leaf, size, leaves(leaf, leaf + 1), changed, root)).toBe(false);
      }),
    );
  });

  it('proves that every tree is the beginning of every later one, and no other tree is', () => {
    fc.assert(
      fc.property(sizes, sizes, fc.nat(), (one, other, anyPlace) => {
        const [first, second] = one < other ? [one, other] : [other, one];
        const proof = largest.consistencyProof(first, second);
        const [old, now] = [largest.rootAt(first), largest.rootAt(second)];
        expect(verifyConsistency(first, second, proof, old, now)).toBe(true);
        if (first === second) return;
        const changed = proof.map((node) => Buffer.from(node));
        changed[anyPlace % changed.length]![0]! ^= 1;
        expect(verifyConsistency(first, second, changed, old, now)).toBe(false);
        const rewritten = Buffer.from(old);
        rewritten[0]! ^= 1;
        expect(verifyConsistency(first, second, proof, rewritten, now)).toBe(false);
      }),
    );
  });

  it('refuses sizes that it has not reached', () => {
    expect(() => logOf(3).rootAt(4)).toThrow(RangeError);
    expect(() => logOf(3).inclusionProof(3, 3)).toThrow(RangeError);
    expect(() => logOf(3).consistencyProof(0, 3)).toThrow(RangeError);
  });
});
