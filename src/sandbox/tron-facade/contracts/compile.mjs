// Compiles the sandbox contracts with the pinned compiler: node src/sandbox/tron-facade/contracts/compile.mjs
import { readFileSync, writeFileSync } from 'node:fs';
import solc from 'solc';

const SOURCE = 'sandbox-trc20.sol';

export function compile() {
  const input = {
    language: 'Solidity',
    sources: { [SOURCE]: { content: readFileSync(new URL(SOURCE, import.meta.url), 'utf8') } },
    settings: {
      evmVersion: 'paris',
      optimizer: { enabled: true, runs: 200 },
      metadata: { bytecodeHash: 'none' },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input)));
  const errors = (output.errors ?? []).filter((error) => error.severity === 'error');
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join('\n'));
  const artefacts = {};
  for (const [name, contract] of Object.entries(output.contracts[SOURCE]))
    artefacts[name] = { abi: contract.abi, bytecode: contract.evm.bytecode.object };
  return `${JSON.stringify({ compiler: solc.version(), contracts: artefacts })}\n`;
}

if (process.argv[1] === new URL(import.meta.url).pathname)
  writeFileSync(new URL('sandbox-trc20.json', import.meta.url), compile());
