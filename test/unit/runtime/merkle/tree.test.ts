import { describe, expect, it } from 'vitest';
import { MerkleFrontier } from '../../../../src/runtime/merkle/frontier.ts';
import {
  consistencyProof,
  EMPTY_ROOT,
  inclusionProof,
  leafHash,
  rootOfLeaves,
  verifyConsistency,
  verifyInclusion,
} from '../../../../src/runtime/merkle/tree.ts';
import {
  parseCheckpoint,
  parseCheckpoints,
  parseVerifierKey,
  verifierKeyOf,
  verifierKeyText,
  verifySignature,
} from '../../../../src/runtime/merkle/checkpoint-note.ts';

/* The leaves and roots that the implementations of Certificate Transparency test each other with. */
const LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'].map(
  (hex) => leafHash(Buffer.from(hex, 'hex')),
);
const ROOTS = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];
const hashOf = (from: number, to: number): Buffer => rootOfLeaves(Buffer.concat(LEAVES.slice(from, to)));
const hex = (nodes: readonly Buffer[]): string[] => nodes.map((node) => node.toString('hex'));

describe('the Merkle tree of RFC 9162', () => {
  it('has the known root for every size, however it is computed', () => {
    expect(EMPTY_ROOT.toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    const frontier = new MerkleFrontier();
    expect(frontier.root()).toEqual(EMPTY_ROOT);
    ROOTS.forEach((root, index) => {
      frontier.append(LEAVES[index]!);
      expect(hashOf(0, index + 1).toString('hex')).toBe(root);
      expect(frontier.root().toString('hex')).toBe(root);
    });
  });

  it('has the known audit paths', () => {
    expect(hex(inclusionProof(0, 1, hashOf))).toEqual([]);
    expect(hex(inclusionProof(0, 8, hashOf))).toEqual([
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
    ]);
    expect(hex(inclusionProof(2, 3, hashOf))).toEqual([
      'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
    ]);
  });

  it('has the known consistency proofs', () => {
    expect(hex(consistencyProof(8, 8, hashOf))).toEqual([]);
    expect(hex(consistencyProof(6, 8, hashOf))).toEqual([
      '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
  });

  it('refuses a proof for another leaf, size or root', () => {
    const root = Buffer.from(ROOTS[6]!, 'hex');
    const proof = inclusionProof(3, 7, hashOf);
    expect(verifyInclusion(3, 7, LEAVES[3]!, proof, root)).toBe(true);
    expect(verifyInclusion(4, 7, LEAVES[3]!, proof, root)).toBe(false);
    expect(verifyInclusion(3, 4, LEAVES[3]!, proof, root)).toBe(false);
    expect(verifyInclusion(3, 7, LEAVES[2]!, proof, root)).toBe(false);
    expect(verifyInclusion(3, 7, LEAVES[3]!, proof.slice(1), root)).toBe(false);
    expect(verifyInclusion(3, 7, LEAVES[3]!, [...proof, root], root)).toBe(false);
    const roots = ROOTS.map((text) => Buffer.from(text, 'hex'));
    expect(verifyConsistency(3, 7, consistencyProof(3, 7, hashOf), roots[2]!, roots[6]!)).toBe(true);
    expect(verifyConsistency(3, 7, consistencyProof(3, 7, hashOf), roots[3]!, roots[6]!)).toBe(false);
    expect(verifyConsistency(0, 7, [], EMPTY_ROOT, roots[6]!)).toBe(false);
  });
});

describe('a signed checkpoint', () => {
  const KEY = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
  const TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
  const SIGNATURE = 'x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=';

  it('is verified as in other implementations of signed notes', () => {
    const key = parseVerifierKey(KEY)!;
    expect(verifierKeyText(verifierKeyOf(key.name, key.publicKey))).toBe(KEY);
    const bytes = Buffer.from(SIGNATURE, 'base64');
    const signatures = [
      { name: 'PeterNeumann', keyId: bytes.subarray(0, 4).toString('hex'), signature: bytes.subarray(4) },
    ];
    const note = { origin: 'PeterNeumann', size: 0, root: EMPTY_ROOT, text: TEXT, signatures };
    expect(verifySignature(note, key)).toBe('valid');
    expect(verifySignature({ ...note, text: TEXT.replace('answer', 'Answer') }, key)).toBe('invalid');
    expect(verifySignature({ ...note, signatures: [] }, key)).toBe('unsigned');
  });

  it('is read one by one or several from a file, and nothing else is', () => {
    const note = (size: number, more = ''): string =>
      `a.example/log\n${size}\n${EMPTY_ROOT.toString('base64')}\n\n\u2014 a.example/log ${SIGNATURE}\n${more}`;
    expect(parseCheckpoint(note(7))).toMatchObject({ origin: 'a.example/log', size: 7, root: EMPTY_ROOT });
    expect(
      parseCheckpoints(`${note(7)}\n${note(9, `\u2014 witness ${SIGNATURE}\n`)}${note(11)}`)!.map(({ size }) => size),
    ).toEqual([7, 9, 11]);
    for (const wrong of [
      '',
      'a\n1\n',
      note(7).replace('\n7\n', '\n07\n'),
      note(7).replace('\u2014', '-'),
      note(7).replace('\n\n', '\n'),
    ])
      expect(parseCheckpoint(wrong)).toBeNull();
    expect(parseCheckpoints(`${note(7)}nonsense`)).toBeNull();
    expect(parseVerifierKey(KEY.replace('c74f20a3', 'c74f20a4'))).toBeNull();
  });
});
