/**
 * What requests for secrets call them (D14, F1). Latin, Cyrillic and Greek entries are whole words, in the order they
 * are read, in lower case; accents do not matter. An apostrophe or a hyphen parts words ("clé d'api" is "cle d api").
 */

/** Words that name a secret wherever they stand; also found inside longer words ("userpassword", "Zugangspasswort"). */
export const SECRET_STEMS: readonly string[] = [
  ...["password", "passwd", "passphrase", "passcode", "apikey", "apitoken", "privatekey", "secretkey", "clientsecret"],
  ...["accesstoken", "authtoken", "refreshtoken", "bearertoken", "creditcard", "cardnumber", "seedphrase"],
  ...["recoveryphrase", "securitycode", "verificationcode", "onetimecode", "onetimepassword"],
  ...["passwort", "kennwort", "kreditkarte", "kartennummer", "geheimzahl", "einmalcode", "zugangsdaten"],
  ...["sicherheitscode", "bestatigungscode", "bestaetigungscode", "prufziffer", "pruefziffer", "kartenprufnummer"],
  ...["kartenpruefnummer", "wiederherstellungsphrase", "zugriffstoken", "zugangstoken"],
  ...["motdepasse", "contrasena", "wachtwoord", "wachtzin", "kaartnummer", "toegangstoken", "toegangssleutel"],
  ...["privesleutel", "beveiligingscode", "verificatiecode", "herstelzin", "парол", "пинкод", "мнемоническ"],
];

/** Words that name a secret when they stand alone as a word. `token`, `secret` and the like have harmless uses, below. */
export const SECRET_WORDS: readonly string[] = [
  ...["pwd", "secret", "secrets", "token", "bearer", "jwt", "credential", "credentials", "mnemonic"],
  ...["pincode", "cvv", "cvv2", "cvc", "cvc2", "otp", "totp", "mdp", "cryptogramme", "senha", "haslo", "hasla"],
  ...["токен", "токена"],
];

/** Words that name a secret only when there is no other word beside them. */
export const SECRET_ALONE: readonly string[] = ["pin", "pass", "clave", "nip"];

/** Several words that name a secret when they follow each other. A last word may stand in the plural. */
export const SECRET_PHRASES: readonly string[] = [
  // English
  ...["pass word", "pass phrase", "pass code", "api key", "app key", "private key", "secret key", "access key"],
  ...["ssh key", "signing key", "encryption key", "decryption key", "master key", "shared key", "account key"],
  ...["session key", "api token", "access token", "auth token", "session token", "session cookie", "auth cookie"],
  ...["security code", "card number", "card no", "card num", "credit card", "debit card", "cc number", "cc num"],
  ...["card verification", "card expiry", "card expiration", "seed phrase", "seed words", "recovery phrase"],
  ...["recovery code", "backup code", "recovery key", "one time code", "one time passcode", "one time pin"],
  ...["verification code", "authentication code", "authorization code", "auth code", "login code", "sms code"],
  ...["2fa code", "mfa code", "authenticator code", "pin code", "pin number", "db pass", "user pass", "smtp pass"],
  ...["admin pass", "root pass", "login pass"],
  // German
  ...["api schlussel", "api schluessel", "privater schlussel", "privater schluessel", "privaten schlussel"],
  ...["geheimer schlussel", "geheimer schluessel", "geheimen schlussel", "pin nummer"],
  // French
  ...["mot de passe", "phrase secrete", "phrase de recuperation", "cle api", "cle d api", "cle privee", "cle secrete"],
  ...["jeton d acces", "jeton d api", "code pin", "code secret", "numero de carte", "carte bancaire"],
  ...["carte de credit", "code de securite", "code de verification", "code a usage unique"],
  // Spanish
  ...[
    "tu clave",
    "su clave",
    "clave api",
    "clave de api",
    "clave privada",
    "clave secreta",
    "clave de acceso",
    "frase semilla",
  ],
  ...["frase de recuperacion", "token de acceso", "numero de tarjeta", "numero de la tarjeta", "tarjeta de credito"],
  ...["tarjeta de debito", "codigo de seguridad", "codigo de verificacion", "codigo de un solo uso", "codigo pin"],
  // Portuguese
  ...["palavra passe", "chave api", "chave de api", "chave da api", "chave privada", "chave secreta"],
  ...["chave de acesso", "frase semente", "frase de recuperacao", "numero do cartao", "cartao de credito"],
  ...["cartao de debito", "codigo de seguranca", "codigo de verificacao", "codigo de uso unico"],
  // Italian
  ...["parola d ordine", "chiave api", "chiave privata", "chiave segreta", "chiave di accesso", "frase di recupero"],
  ...["frase seme", "numero di carta", "numero della carta", "carta di credito", "codice di sicurezza"],
  ...["codice di verifica", "codice monouso", "codice pin", "codice segreto"],
  // Dutch
  ...["api sleutel", "geheime sleutel", "prive sleutel", "eenmalige code"],
  // Polish
  ...["klucz api", "klucz prywatny", "klucz tajny", "tajny klucz", "numer karty", "karta kredytowa"],
  ...["karty kredytowej", "kod pin", "kod bezpieczenstwa", "kod weryfikacyjny", "kod jednorazowy"],
  ...["jednorazowy kod", "fraza odzyskiwania"],
  // Russian
  ...["api ключ", "ключ api", "закрытый ключ", "приватный ключ", "секретный ключ", "номер карты", "номер банковской"],
  ...["банковской карты", "кредитной карты", "пин код", "код безопасности", "код подтверждения", "одноразовый код"],
  ...["сид фраза", "кодовое слово", "секретное слово"],
];

/** Scripts that do not part words with spaces; white space inside an entry is optional. */
export const SECRET_RUNS: readonly string[] = [
  ...[
    "密码",
    "密碼",
    "口令",
    "密钥",
    "密鑰",
    "金鑰",
    "私钥",
    "私鑰",
    "令牌",
    "权杖",
    "验证码",
    "驗證碼",
    "助记词",
    "助記詞",
  ],
  ...["卡号", "卡號", "信用卡", "安全码", "安全碼", "个人识别码"],
  ...[
    "パスワード",
    "パスフレーズ",
    "パスコード",
    "暗証番号",
    "秘密鍵",
    "秘密の鍵",
    "APIキー",
    "アクセスキー",
    "シークレット",
  ],
  ...["トークン", "カード番号", "クレジットカード", "セキュリティコード", "認証コード", "確認コード", "ワンタイム"],
  ...["シードフレーズ", "リカバリーフレーズ", "合言葉"],
  ...[
    "비밀번호",
    "패스워드",
    "암호",
    "API 키",
    "개인 키",
    "비밀 키",
    "액세스 키",
    "토큰",
    "카드 번호",
    "신용 카드",
    "보안 코드",
  ],
  ...["인증 번호", "인증 코드", "일회용", "시드 구문", "복구 구문", "니모닉", "핀 번호"],
];

/** Words after a secret's name that make it a property of the secret ("token count", "password policy"). */
export const HARMLESS_AFTER_ANY: readonly string[] = [
  ...["length", "policy", "strength", "expiry", "ttl", "age", "rotation", "rules", "requirements", "manager"],
  ...["count", "counts", "limit", "limits", "size", "budget", "usage", "format", "min", "max"],
];

/** The same for words and phrases with more harmless uses than a password has. */
export const HARMLESS_AFTER_WORD: readonly string[] = [
  ...["name", "names", "id", "ids", "label", "type", "kind", "symbol", "address", "standard", "url", "uri", "endpoint"],
  ...["path", "arn", "ref", "scope", "scopes", "version", "prefix", "santa", "window", "price", "pair", "issuer"],
];

/** Words before one that turn it into something else ("stop token", "library card number"). */
export const HARMLESS_BEFORE: Readonly<Record<string, readonly string[]>> = {
  token: ["max", "min", "stop", "input", "output", "prompt", "completion", "per", "nft", "governance", "next", "page"],
  "card number": ["library", "loyalty", "membership", "member", "business", "sim"],
};
