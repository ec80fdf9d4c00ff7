"""Formulas that liteparse writes as LaTeX (`$q_{1}\\in S$`), back to the characters of the page (`q1∈S`)."""

import re

# A formula has a sub- or superscript or a command; two dollar prices on one line have neither.
_FORMULA = re.compile(r"\$((?=[^$\n]*?(?:[_^]\{|(?<!\\)\\[A-Za-z]))[^$\n]+)\$")
_FRACTION = re.compile(r"\\frac\{([^{}]*)\}\{([^{}]*)\}")
_COMMAND = re.compile(r"\\([A-Za-z]+) ?")
_SCRIPT = re.compile(r"[_^]?\{([^{}]*)\}")
_ESCAPE = re.compile(r"\\([{}|&%#_$])")
_NEST = 8

_SYMBOLS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "zeta": "ζ", "eta": "η", "theta": "θ",
    "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "upsilon": "υ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ",
    "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
    "varepsilon": "ε", "varphi": "φ", "vartheta": "ϑ", "times": "×", "cdot": "·", "div": "÷", "pm": "±", "mp": "∓",
    "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠", "approx": "≈", "equiv": "≡", "sim": "∼",
    "ll": "≪", "gg": "≫", "in": "∈", "notin": "∉", "ni": "∋", "subset": "⊂", "subseteq": "⊆", "supset": "⊃",
    "supseteq": "⊇", "cup": "∪", "cap": "∩", "bigcup": "⋃", "bigcap": "⋂", "setminus": "∖", "emptyset": "∅",
    "forall": "∀", "exists": "∃", "neg": "¬", "wedge": "∧", "vee": "∨", "to": "→", "rightarrow": "→",
    "leftarrow": "←", "Rightarrow": "⇒", "Leftarrow": "⇐", "leftrightarrow": "↔", "Leftrightarrow": "⇔",
    "mapsto": "↦", "sum": "∑", "prod": "∏", "int": "∫", "partial": "∂", "nabla": "∇", "infty": "∞", "sqrt": "√",
    "surd": "√", "langle": "⟨", "rangle": "⟩", "ldots": "…", "cdots": "⋯", "dots": "…", "perp": "⊥", "parallel": "∥",
    "oplus": "⊕", "otimes": "⊗", "circ": "∘", "ast": "∗", "star": "⋆", "dagger": "†", "propto": "∝", "vdash": "⊢",
    "models": "⊨", "prec": "≺", "succ": "≻", "lceil": "⌈", "rceil": "⌉", "lfloor": "⌊", "rfloor": "⌋", "ell": "ℓ",
    "mathcal": "", "mathbb": "", "mathfrak": "", "mathrm": "", "mathbf": "", "operatorname": "", "text": "",
    "overline": "", "hat": "", "tilde": "", "bar": "", "vec": "", "left": "", "right": "", "not": "", "quad": " ",
}  # fmt: skip


def without_latex(text: str) -> str:
    """The text with its formulas as plain characters; a command of unknown meaning keeps its name."""
    return _FORMULA.sub(lambda match: _plain_formula(match[1]), text) if "$" in text else text


def _plain_formula(latex: str) -> str:
    text = _FRACTION.sub(r"\1/\2", latex)
    text = _COMMAND.sub(lambda match: _SYMBOLS.get(match[1], match[1] + " "), text)
    text = _ESCAPE.sub(lambda match: {"{": "\ue000", "}": "\ue001"}.get(match[1], match[1]), text)
    for _ in range(_NEST):
        text, count = _SCRIPT.subn(r"\1", text)
        if not count:
            break
    return text.replace("\ue000", "{").replace("\ue001", "}").replace("\\", "").strip()
