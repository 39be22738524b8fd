import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { artifactPath, CONTRACT_SOURCES, type ContractArtifact, type ContractSource } from '../contract-artifact.ts';
import { must } from '../../domain/values/must.ts';
import { keysOf } from '../../domain/values/keys-of.ts';

interface CompilerOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts: Readonly<
    Record<
      string,
      Readonly<
        Record<string, { readonly abi: unknown[]; readonly evm: { readonly bytecode: { readonly object: string } } }>
      >
    >
  >;
}

/**
 * Compiles one source. No metadata is appended, so that the same source always gives the same bytes. Throws on any
 * warning.
 */
export function compileContract(source: ContractSource): ContractArtifact {
  const solc = createRequire(import.meta.url)('solc') as { compile(input: string): string; version(): string };
  const file = `${source}.sol`;
  const input = {
    language: 'Solidity',
    sources: { [file]: { content: readFileSync(join(import.meta.dirname, file), 'utf8') } },
    settings: {
      evmVersion: 'paris',
      optimizer: { enabled: true, runs: 200 },
      metadata: { appendCBOR: false, bytecodeHash: 'none' },
      outputSelection: { [file]: { '*': ['abi', 'evm.bytecode.object'] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as CompilerOutput;
  const complaints = output.errors ?? [];
  if (complaints.length > 0) throw new Error(complaints.map(({ formattedMessage }) => formattedMessage).join('\n'));
  const contractName = CONTRACT_SOURCES[source];
  const { abi, evm } = must(must(output.contracts[file])[contractName]);
  return { contractName, compiler: solc.version(), abi, bytecode: `0x${evm.bytecode.object}` };
}

/** The committed artefact as text. */
export const artifactText = (artifact: ContractArtifact): string => `${JSON.stringify(artifact, null, 2)}\n`;

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const source of keysOf(CONTRACT_SOURCES))
    writeFileSync(artifactPath(source), artifactText(compileContract(source)));
}
