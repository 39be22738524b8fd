import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  artifactPath,
  CONTRACT_SOURCES,
  readArtifact,
  type ContractSource,
} from '../../../src/sandbox/contract-artifact.ts';
import { artifactText, compileContract } from '../../../src/sandbox/contracts/compile.ts';

interface AbiFunction {
  readonly type: string;
  readonly name: string;
  readonly outputs: readonly { readonly type: string }[];
}
const returnsOf = (source: ContractSource, name: string): string[] =>
  (readArtifact(source).abi as AbiFunction[])
    .find((item) => item.type === 'function' && item.name === name)!
    .outputs.map(({ type }) => type);

describe('the committed contract artefacts', () => {
  it.each(Object.keys(CONTRACT_SOURCES) as ContractSource[])('%s equals a fresh compile of its source', (source) => {
    expect(artifactText(compileContract(source))).toBe(readFileSync(artifactPath(source), 'utf8'));
  });

  it('keep the difference that payment software has to handle: USDT returns nothing, USDC returns a bool', () => {
    for (const name of ['transfer', 'transferFrom', 'approve']) {
      expect(returnsOf('sandbox-usdt', name)).toEqual([]);
      expect(returnsOf('sandbox-usdc', name)).toEqual(['bool']);
    }
  });
});
