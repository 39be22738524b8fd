'use strict';
(() => {
  const texts = JSON.parse(document.body.dataset.texts);
  /** Wallets that announced themselves: name, networks they can pay on, and how. Announcements are theirs; names are shown as text only. */
  const wallets = new Map();
  const MAX_WALLETS = 12;
  const NAME_LENGTH = 40;

  class OnAnotherChain extends Error {}

  const say = (box, text, bad) => {
    const said = box.querySelector('.said') ?? box.appendChild(document.createElement('p'));
    said.className = bad ? 'said bad' : 'said';
    said.setAttribute('role', 'status');
    said.textContent = text;
  };

  // ERC-20 `transfer(address,uint256)`: four bytes of selector, then both arguments as 32 bytes.
  const word = (hex) => hex.padStart(64, '0');
  const transferCall = ({ to, units }) => `0xa9059cbb${word(to.slice(2).toLowerCase())}${word(BigInt(units).toString(16))}`;

  const payEvm = (provider) => async (facts) => {
    const [from] = await provider.request({ method: 'eth_requestAccounts' });
    const chainId = `0x${BigInt(facts.chain).toString(16)}`;
    const onChain = async () => BigInt(await provider.request({ method: 'eth_chainId' })) === BigInt(facts.chain);
    if (!(await onChain())) {
      await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] }).catch(() => null);
      if (!(await onChain())) throw new OnAnotherChain();
    }
    await provider.request({ method: 'eth_sendTransaction', params: [{ from, to: facts.token, value: '0x0', data: transferCall(facts), chainId }] });
  };

  /** Sun (10^-6 TRX) a transfer may burn at most: three times what one to a new holder costs. */
  const TRON_FEE_LIMIT = 40_000_000;
  const payTron = (wallet) => async (facts) => {
    const answer = await wallet.request({ method: 'tron_requestAccounts' });
    const tronWeb = wallet.tronWeb || globalThis.tronWeb;
    const from = tronWeb?.defaultAddress?.base58;
    if ((answer?.code !== undefined && answer.code !== 200) || !from) throw new Error('no account');
    // The last four bytes of the first block's id are TRON's chain id.
    const genesis = await tronWeb.trx.getBlock(0);
    if (BigInt(`0x${genesis.blockID.slice(-8)}`) !== BigInt(facts.chain)) throw new OnAnotherChain();
    const parameters = [
      { type: 'address', value: facts.to },
      { type: 'uint256', value: facts.units },
    ];
    const options = { feeLimit: TRON_FEE_LIMIT, callValue: 0 };
    const built = await tronWeb.transactionBuilder.triggerSmartContract(facts.token, 'transfer(address,uint256)', options, parameters, from);
    if (!built?.result?.result) throw new Error('refused');
    const sent = await tronWeb.trx.sendRawTransaction(await tronWeb.trx.sign(built.transaction));
    if (!sent?.result) throw new Error('refused');
  };

  /** Wallet Standard: the wallet signs and sends what the service composed, with the payer's own account as the source. */
  const CONNECT = 'standard:connect';
  const SEND = 'solana:signAndSendTransaction';
  const paySolana = (wallet) => async (facts) => {
    const [account] = (await wallet.features[CONNECT].connect()).accounts;
    if (!account) throw new Error('no account');
    if (!account.chains.includes(facts.chain)) throw new OnAnotherChain();
    const query = new URLSearchParams({ payer: account.address, units: facts.units });
    const answer = await fetch(`${facts.transfer}?${query}`, { cache: 'no-store' });
    if (!answer.ok) throw new Error('refused');
    const transaction = Uint8Array.from(atob((await answer.json()).transaction), (character) => character.charCodeAt(0));
    await wallet.features[SEND].signAndSendTransaction({ account, chain: facts.chain, transaction });
  };

  const pay = async (box, button, wallet) => {
    const facts = box.dataset;
    const network = box.closest('.panel').dataset.network;
    button.disabled = true;
    say(box, texts.wallet_confirm);
    try {
      await wallet.pay(facts);
      // The button stays off: the transfer is on its way, and a second one would be money lost to an excess.
      say(box, texts.wallet_sent);
    } catch (error) {
      button.disabled = false;
      const name = document.querySelector(`label[for=network-${network}] span`).textContent;
      say(box, error instanceof OnAnotherChain ? texts.wallet_chain.replace('{network}', name) : texts.wallet_refused, true);
    }
  };

  const show = () => {
    for (const box of document.querySelectorAll('.browser-wallet')) {
      const { network } = box.closest('.panel').dataset;
      for (const [key, wallet] of wallets) {
        const fits = wallet.networks.includes(network) && (!wallet.chains || wallet.chains.includes(box.dataset.chain));
        if (!fits || box.querySelector(`[data-wallet="${CSS.escape(key)}"]`)) continue;
        const button = document.createElement('button');
        button.type = 'button';
        button.dataset.wallet = key;
        button.textContent = texts.wallet_pay.replace('{wallet}', wallet.name);
        button.addEventListener('click', () => void pay(box, button, wallet));
        box.append(button);
        box.hidden = false;
      }
    }
  };
  const add = (key, name, networks, payWith, chains) => {
    if (wallets.has(key) || wallets.size >= MAX_WALLETS) return;
    wallets.set(key, { name: String(name).slice(0, NAME_LENGTH), networks, pay: payWith, chains });
    show();
  };

  // EIP-6963: every injected wallet announces itself, so that several live side by side.
  addEventListener('eip6963:announceProvider', ({ detail }) => {
    if (detail?.info?.uuid && detail.provider?.request) add(detail.info.uuid, detail.info.name, ['ethereum', 'bsc'], payEvm(detail.provider));
  });
  dispatchEvent(new Event('eip6963:requestProvider'));

  // Wallet Standard: wallets that came before the page hear that it is ready, those that come later call.
  const register = (...found) => {
    for (const wallet of found) {
      if (wallet?.features?.[CONNECT] && wallet.features[SEND])
        add(`solana ${wallet.name}`, wallet.name, ['solana'], paySolana(wallet), wallet.chains);
    }
    return () => {};
  };
  const api = Object.freeze({ register });
  addEventListener('wallet-standard:register-wallet', ({ detail }) => detail(api));
  dispatchEvent(new CustomEvent('wallet-standard:app-ready', { detail: api }));

  // Wallets that announce nothing; some are injected late, so they are looked for a few times.
  const look = () => {
    const announced = [...wallets.values()].some(({ networks }) => networks.includes('ethereum'));
    if (globalThis.ethereum?.request && !announced) add('injected', 'Ethereum', ['ethereum', 'bsc'], payEvm(globalThis.ethereum));
    if (globalThis.tronLink?.request) add('tronlink', 'TronLink', ['tron'], payTron(globalThis.tronLink));
  };
  for (const delayMs of [0, 500, 2000]) setTimeout(look, delayMs);
  document.addEventListener('page-renewed', show);
})();
